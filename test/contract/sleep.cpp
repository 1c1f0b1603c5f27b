// Coroutines that sleep.
#include "reader.hpp"

#include <chrono>
#include <optional>
#include <vector>

namespace contract {

namespace {

using namespace std::chrono_literals;

/// The time that the context's sleeps go by.
template <class Context>
qio::task<std::chrono::nanoseconds> slept(Context& context, std::chrono::nanoseconds time) {
  const auto start = std::chrono::steady_clock::now();
  CHECK(co_await context.sleep_for(time));
  co_return std::chrono::steady_clock::now() - start;
}

// Where nothing depends on how long the machine takes.
using simulated_time = std::tuple<under<qio::simulated, qio::cached>>;

}  // namespace

PROMISE(sleep_ends, each_engine, "a coroutine sleeps no shorter than it asked for, unless time is simulated") {
  const auto took = w.context->run(slept(*w.context, 2ms));
  if (!std::is_same_v<typename Where::engine, qio::simulated>) CHECK(took >= 2ms);
  CHECK(!w.context->next_deadline().exists());
}

PROMISE(sleep_in_order, simulated_time, "coroutines that sleep are resumed in the order of their times") {
  std::vector<int> order;
  const auto sleep = [&](int number, std::chrono::milliseconds time) -> qio::task<void> {
    CHECK(co_await w.context->sleep_for(time));
    order.push_back(number);
  };
  w.context->run(qio::when_all(sleep(3, 40ms), sleep(1, 0ms), sleep(2, 20ms), sleep(0, -1h)));
  CHECK(order == std::vector<int>{1, 0, 2, 3});  // those without time to wait do not suspend
}

PROMISE(sleep_beside, asynchronous, "operations complete while a coroutine sleeps") {
  auto file = w.with(4096);
  bool woke = false;
  const auto sleep = [&]() -> qio::task<void> {
    CHECK(co_await w.context->sleep_for(10ms));
    woke = true;
  };
  const auto read = [&]() -> qio::task<bool> {
    memory block(4096);
    const auto bytes = co_await file.async_read_at(0, block.all());
    co_return bytes&& holds_pattern(block.all(), 0);
  };
  const auto answers = w.context->run(qio::when_all(sleep(), read()));
  CHECK(std::get<1>(answers));
  CHECK(woke);
}

PROMISE(sleep_closed, each_engine, "the end of a context ends sleeps, with an error") {
  std::optional<qio::result<void>> first;
  const auto sleep = [&](std::chrono::hours time) -> qio::task<void> {
    auto& context = *w.context;
    first = co_await context.sleep_for(time);
  };
  {
    qio::task_scope scope(*w.context);
    scope.spawn(sleep(1h));
    scope.spawn(sleep(std::chrono::hours::max()));
    w.context->poll();
    CHECK(w.context->next_deadline().exists());
    CHECK(!w.context->run_one(std::chrono::steady_clock::time_point::min()));
    w.context.reset();
    CHECK(scope.is_empty());
  }
  REQUIRE(first);
  CHECK(first->error() == errc::context_closed);
}

PROMISE(sleep_destroyed, each_engine, "destroying a coroutine that sleeps ends its wait") {
  bool woke = false;
  const auto sleep = [&]() -> qio::task<void> {
    static_cast<void>(co_await w.context->sleep_for(1h));
    woke = true;
  };
  {
    qio::task_scope scope(*w.context);
    scope.spawn(sleep());
    w.context->poll();
    CHECK(w.context->next_deadline().exists());
  }
  CHECK(!woke);
  CHECK(!w.context->next_deadline().exists());
}

PROMISE(sleep_counts_as_one, each_engine, "run_one() ends one sleep at a time") {
  int woke = 0;
  const auto sleep = [&]() -> qio::task<void> {
    static_cast<void>(co_await w.context->sleep_for(1ms));
    ++woke;
  };
  qio::task_scope scope(*w.context);
  scope.spawn(sleep());
  scope.spawn(sleep());
  CHECK(w.context->poll());  // starts both
  while (woke < 2) {
    const int before = woke;
    CHECK(w.context->run_one());
    CHECK(woke == before + 1);
  }
}

}  // namespace contract
