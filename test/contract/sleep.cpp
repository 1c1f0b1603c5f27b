// Coroutines that sleep.
#include "reader.hpp"

#include <chrono>
#include <optional>
#include <stop_token>
#include <thread>
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

PROMISE(sleep_again, each_engine, "a coroutine whose sleeps have no time left to wait lets others run") {
  for (const bool may_stop : {false, true}) {
    std::stop_source stop;
    bool others_ran = false;
    int sleeps = 0;
    const auto sleep = [&]() -> qio::task<void> {
      for (; !others_ran && sleeps != 100'000; ++sleeps) {
        if (may_stop)
          CHECK(co_await w.context->sleep_for(0s, stop.get_token()));
        else
          CHECK(co_await w.context->sleep_for(0s));
      }
    };
    const auto other = [&]() -> qio::task<void> {
      CHECK(co_await w.context->schedule());
      CHECK(co_await w.context->sleep_for(1us));
      others_ran = true;
    };
    w.context->run(qio::when_all(sleep(), other()));
    CHECK(others_ran);
    CHECK(sleeps < 100'000);
  }
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

PROMISE(sleep_stopped, each_engine, "a stop ends a sleep, with operation_canceled") {
  std::stop_source source;
  std::vector<qio::result<void>> answers;
  const auto sleep = [&](auto time) -> qio::task<void> {
    auto& context = *w.context;
    answers.push_back(co_await context.sleep_for(time, source.get_token()));
    answers.push_back(co_await context.sleep_until(std::chrono::steady_clock::time_point::max(), source.get_token()));
  };
  const auto stop = [&]() -> qio::task<void> {
    co_await w.context->schedule();
    source.request_stop();
    CHECK(answers.empty());  // it ends in a later turn
  };
  w.context->run(qio::when_all(sleep(std::chrono::hours::max()), sleep(std::chrono::duration<double>(1e10)), stop()));
  REQUIRE(answers.size() == 4);
  for (const auto& each : answers) CHECK(each.error() == std::errc::operation_canceled);
  CHECK(!w.context->next_deadline().exists());
}

PROMISE(sleep_not_stopped, each_engine, "a sleep that ends before a stop succeeds, and the stop changes nothing") {
  std::stop_source source;
  auto& context = *w.context;
  const auto stop_later = [&]() -> qio::task<bool> {
    source.request_stop();
    for (int turn = 0; turn < 3; ++turn) co_await context.schedule();
    co_return true;
  };
  const auto sleep = [&](std::stop_token token) -> qio::task<bool> {
    // The sleep lives to the end of the expression, but must not resume the coroutine again.
    co_return (co_await context.sleep_for(1ms, token)) && co_await stop_later();
  };
  CHECK(context.run(sleep(source.get_token())));
  CHECK(!context.run(sleep(source.get_token())));  // now it has been requested before
  CHECK(context.run(sleep(std::stop_token())));    // which never stops
}

PROMISE(sleep_stopped_elsewhere, each_engine, "another thread may stop a sleep at any time") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  const auto here = std::this_thread::get_id();
  const auto sleep = [&](std::stop_token token) -> qio::task<bool> {
    const auto answer = co_await w.context->sleep_for(std::chrono::hours::max(), token);
    co_return !answer && answer.error() == std::errc::operation_canceled && std::this_thread::get_id() == here;
  };
  for (int round = 0; round < 100; ++round) {
    std::stop_source source;
    const std::jthread stopper([&source] { source.request_stop(); });
    CHECK(w.context->run(sleep(source.get_token())));
  }
}

PROMISE(sleep_ends_under_stop, each_engine, "a sleep may end or be destroyed while another thread stops it") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  int ended = 0;
  const auto sleep = [&](std::stop_token token, std::chrono::nanoseconds time) -> qio::task<void> {
    auto& context = *w.context;
    const auto answer = co_await context.sleep_for(time, token);
    if (!answer) CHECK(answer.error() == std::errc::operation_canceled);
    ++ended;
  };
  for (int round = 0; round < 100; ++round) {
    std::stop_source source;
    std::jthread stopper;
    qio::task_scope scope(*w.context);
    for (int i = 0; i < 8; ++i) scope.spawn(sleep(source.get_token(), i % 2 == 0 ? 20us * i : 1h));
    w.context->poll();
    stopper = std::jthread([&source] { source.request_stop(); });
    if (round % 2 == 0) w.context->poll();
  }
  CHECK(ended <= 800);
}

PROMISE(sleep_closed_with_token, each_engine, "the end of a context ends sleeps that have a stop token, too") {
  std::vector<qio::result<void>> answers;
  std::stop_source source;
  const auto sleep = [&]() -> qio::task<void> {
    auto& context = *w.context;
    answers.push_back(co_await context.sleep_for(1h, source.get_token()));
    answers.push_back(co_await context.sleep_for(1h, source.get_token()));
  };
  {
    qio::task_scope scope(*w.context);
    scope.spawn(sleep());
    w.context->poll();
    w.context.reset();
    CHECK(scope.is_empty());
  }
  source.request_stop();
  REQUIRE(answers.size() == 2);
  for (const auto& each : answers) CHECK(each.error() == errc::context_closed);
}

}  // namespace contract
