// Tasks, when_all, run() and schedule() on each engine.
#include "coroutines.hpp"
#include "destroyed.hpp"
#include "reader.hpp"
#include "world.hpp"

#include <coroutine>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace contract {
namespace {

qio::task<int> value(int number) { co_return number; }
qio::task<> nothing() { co_return; }
qio::task<std::unique_ptr<int>> owned(int number) { co_return std::make_unique<int>(number); }
qio::task<int> failure(const char* why) {
  throw std::runtime_error(why);
  co_return 0;
}

}  // namespace

PROMISE(run_value, each_engine, "run() returns the task's value, of any type") {
  CHECK(w.context->run(value(42)) == 42);
  CHECK(*w.context->run(owned(7)) == 7);
  w.context->run(nothing());
  const auto twice = [](qio::task<int> inner) -> qio::task<int> { co_return 2 * co_await std::move(inner); };
  CHECK(w.context->run(twice(twice(value(3)))) == 12);
}

PROMISE(run_exception, each_engine, "co_await and run() rethrow a task's exception") {
  CHECK_THROWS_WITH(w.context->run(failure("first")), "first");
  const auto caught = [](qio::task<int> inner) -> qio::task<std::string> {
    try {
      co_await std::move(inner);
    } catch (const std::runtime_error& thrown) {
      co_return thrown.what();
    }
    co_return "";
  };
  CHECK(w.context->run(caught(failure("second"))) == "second");
  CHECK(w.context->run(value(1)) == 1);  // the context still works
}

PROMISE(not_run, each_engine, "a task that is never run does nothing, and may be moved and destroyed") {
  bool ran = false;
  const auto note = [](bool& flag) -> qio::task<> {
    flag = true;
    co_return;
  };
  {
    qio::task<> idle = note(ran);
    qio::task<> moved = std::move(idle);
    idle = std::move(moved);
  }
  CHECK(!ran);
}

PROMISE(all_of_tuple, each_engine, "when_all returns values in the order of its arguments") {
  const auto [number, none, pointer] = w.context->run(qio::when_all(value(1), nothing(), owned(3)));
  CHECK(number == 1);
  CHECK(none == qio::unit());
  CHECK(*pointer == 3);
  CHECK(w.context->run(qio::when_all()) == std::tuple<>());
}

PROMISE(all_of_vector, each_engine, "when_all takes any number of tasks, including none") {
  CHECK(w.context->run(qio::when_all(std::vector<qio::task<int>>())).empty());
  std::vector<qio::task<std::unique_ptr<int>>> tasks;
  for (int i = 0; i < 100; ++i) tasks.push_back(owned(i));
  const auto values = w.context->run(qio::when_all(std::move(tasks)));
  REQUIRE(values.size() == 100);
  bool in_order = true;
  for (int i = 0; i < 100; ++i) in_order = in_order && *values[static_cast<std::size_t>(i)] == i;
  CHECK(in_order);
}

PROMISE(all_with_exceptions, each_engine,
        "when_all rethrows the first exception in order, after all tasks have finished") {
  auto file = w.with(4096);
  int ended = 0;
  const auto failing = [](auto& from, const char* why, int turns, int& count) -> qio::task<> {
    memory buffer(4096);
    for (int i = 0; i < turns; ++i) static_cast<void>(co_await from.async_write_at(0, buffer.all()));
    ++count;
    throw std::runtime_error(why);
  };
  CHECK_THROWS_WITH(
      w.context->run(qio::when_all(failing(file, "slow", 5, ended), failing(file, "fast", 0, ended), value(1))),
      "slow");
  CHECK(ended == 2);
  std::vector<qio::task<>> tasks;
  for (int i = 0; i < 3; ++i) tasks.push_back(failing(file, i == 0 ? "zero" : "other", 3 - i, ended));
  CHECK_THROWS_WITH(w.context->run(qio::when_all(std::move(tasks))), "zero");
  CHECK(ended == 5);
}

PROMISE(scheduled_here, each_engine, "a scheduled coroutine continues inside run(), whichever thread it ran on") {
  constexpr int threads = 4, rounds = 100;
  const auto runner = std::this_thread::get_id();
  int arrived = 0, elsewhere = 0;
  const auto visit = [&]() -> qio_test::detached {
    co_await w.context->schedule();
    ++arrived;
    if (std::this_thread::get_id() != runner) ++elsewhere;
  };
  std::vector<std::thread> visitors;
  for (int t = 0; t < threads; ++t)
    visitors.emplace_back([&] {
      for (int i = 0; i < rounds; ++i) visit();
    });
  const auto until_all = [&]() -> qio::task<> {
    while (arrived < threads * rounds) co_await w.context->schedule();
  };
  w.context->run(until_all());
  for (auto& each : visitors) each.join();
  CHECK(arrived == threads * rounds);
  CHECK(elsewhere == 0);
}

PROMISE(schedule_ends, each_engine, "a loop over schedule() ends when its context is destroyed") {
  int turns = 0, after = 0;
  const auto loop = [](auto& context, int& count, int& end) -> qio::task<> {
    while (co_await context.schedule()) ++count;
    CHECK(!co_await context.schedule());  // nor does it return true later
    end = count;
  };
  {
    qio::task_scope scope(*w.context);
    auto& context = *w.context;
    scope.spawn(loop(context, turns, after));
    while (turns < 10) context.poll();
    CHECK(after == 0);
    w.context.reset();
    CHECK(scope.is_empty());
  }
  CHECK(after == turns);
  CHECK(after == 10);
}

PROMISE(schedule_ends_unrun, each_engine, "a coroutine that awaits a context that never runs is resumed with false") {
  std::optional<bool> answer;
  const auto wait = [](auto& context, std::optional<bool>& given) -> qio::task<> {
    given = co_await context.schedule();
  };
  qio::task_scope scope(*w.context);
  scope.spawn(wait(*w.context, answer));
  w.context.reset();
  CHECK(scope.is_empty());
  CHECK(answer == false);
}

PROMISE(woken, each_engine, "another thread wakes a sleeping context") {
  int turns = 0;
  struct baton {
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> handle) noexcept {
      other = std::thread([handle] { handle.resume(); });
    }
    void await_resume() const noexcept {}
    std::thread& other;
  };
  std::thread other;
  const auto away_and_back = [&]() -> qio::task<std::thread::id> {
    co_await baton{other};  // continues on the other thread
    co_await w.context->schedule();
    ++turns;
    co_return std::this_thread::get_id();
  };
  for (int i = 0; i < 20; ++i) {
    CHECK(w.context->run(away_and_back()) == std::this_thread::get_id());
    other.join();
  }
  CHECK(turns == 20);
}

PROMISE(fair, each_engine, "reads that complete at once do not starve other coroutines") {
  auto file = w.with(4096);
  bool done = false;
  std::size_t reads = 0;
  memory buffer(4096);
  const auto busy = [&]() -> qio::task<> {
    while (!done) {
      static_cast<void>(co_await file.async_read_at(0, buffer.all()));
      ++reads;
    }
  };
  const auto other = [&]() -> qio::task<> {
    for (int i = 0; i < 10; ++i) co_await w.context->schedule();
    done = true;
  };
  w.context->run(qio::when_all(busy(), other()));
  CHECK(reads > 0);
}

PROMISE(two_contexts, each_engine, "several threads may each use a context of their own at the same time") {
  std::array<std::size_t, 3> right{};
  std::vector<std::thread> threads;
  for (std::size_t& each : right)
    threads.emplace_back([&each] {
      world<Where> own;
      auto file = own.open("data", access::read_write, creation::always_new).value();
      auto source = memory::with_pattern(0, 64 * 4096);
      const auto copy = [&](std::uint64_t offset) -> qio::task<bool> {
        memory target(4096);
        const auto written = co_await file.async_write_at(offset, source.part(offset, 4096));
        const auto read = co_await file.async_read_at(offset, target.all());
        co_return written.has_value() && read.has_value() && holds_pattern(target.all(), offset);
      };
      std::vector<qio::task<bool>> tasks;
      for (std::uint64_t i = 0; i < 64; ++i) tasks.push_back(copy(i * 4096));
      for (const bool is_right : own.context->run(qio::when_all(std::move(tasks)))) each += is_right ? 1u : 0u;
    });
  for (auto& each : threads) each.join();
  CHECK(right == std::array<std::size_t, 3>{64, 64, 64});
}

PROMISE(made_elsewhere, each_engine, "one thread may create and destroy a context that another one uses") {
  world<Where> other;
  auto file = other.with(4096);
  bool right = false;
  std::thread user([&] {
    reader<world<Where>> one(4096);
    one.start(file, 0);
    other.context->run();
    right = one.is_right();
  });
  user.join();
  CHECK(right);
}

PROMISE(deep_loop, each_engine, "a loop over tasks that never suspend does not grow the stack") {
  const auto loop = []() -> qio::task<int> {
    int sum = 0;
    for (int turn = 0; turn < 300'000; ++turn) sum += co_await value(1);
    co_return sum;
  };
  CHECK(w.context->run(loop()) == 300'000);
}

namespace {

/// Destroys `outermost`, which awaits it through `depth` more tasks.
qio::task<> destroy_from(int depth, std::coroutine_handle<>& outermost, int& gone) {
  const end_counter here(gone);
  if (depth == 0)
    co_await destruction{outermost};
  else
    co_await destroy_from(depth - 1, outermost, gone);
}

}  // namespace

PROMISE(destroyed_from_within, each_engine, "a task may destroy the coroutine that awaits it, at any depth") {
  for (const int depth : {0, 1, 5}) {
    std::coroutine_handle<> outermost;
    int gone = 0;
    const auto await_task = [](auto& handle, int levels, int& count) -> destructible {
      co_await publish{handle};
      co_await destroy_from(levels, handle, count);
    };
    await_task(outermost, depth, gone);
    CHECK(outermost == nullptr);
    CHECK(gone == depth + 1);
  }
}

PROMISE(destroyed_from_all, each_engine, "a task of when_all may destroy the coroutine that awaits them") {
  for (const std::size_t which : {0u, 1u, 2u}) {
    std::coroutine_handle<> outermost;
    int gone = 0;
    const auto await_all = [](auto& handle, std::size_t chosen, int& count) -> destructible {
      co_await publish{handle};
      std::vector<qio::task<>> tasks;
      for (std::size_t i = 0; i < 3; ++i) tasks.push_back(i == chosen ? destroy_from(1, handle, count) : nothing());
      co_await qio::when_all(std::move(tasks));
    };
    await_all(outermost, which, gone);
    CHECK(outermost == nullptr);
    CHECK(gone == 2);
  }
}

namespace {

/// A when_all within a when_all, `depth` times, all on one stack unless the library prevents that. The innermost one
/// waits for a turn of `on` if `suspends`. Returns how many there were.
template <class Context>
qio::task<int> nested_all(Context& on, int depth, bool suspends) {
  if (depth == 0) {
    if (suspends) co_await on.schedule();
    co_return 0;
  }
  const auto inner = co_await qio::when_all(nested_all(on, depth - 1, suspends));
  co_return std::get<0>(inner) + 1;
}

/// Counts the tasks that have started, of `depth` that await each other.
qio::task<> count_started(int depth, int& count) {
  ++count;
  if (depth != 0) co_await count_started(depth - 1, count);
}

}  // namespace

PROMISE(nested_deep, each_engine, "when_all may be nested 50,000 deep, whether the innermost task suspends or not") {
  for (const bool suspends : {false, true}) CHECK(w.context->run(nested_all(*w.context, 50'000, suspends)) == 50'000);
}

PROMISE(nested_deep_failure, each_engine, "an exception propagates through tasks that are nested 50,000 deep") {
  // A struct, because a lambda that is a coroutine cannot call itself.
  struct recursive {
    static qio::task<> fail(int depth) {
      if (depth == 0) throw std::runtime_error("innermost");
      std::exception_ptr thrown;
      try {
        co_await qio::when_all(fail(depth - 1));
      } catch (...) {
        thrown = std::current_exception();
      }
      // Rethrown outside the handler: exceptions that are being handled form a list, which every throw walks.
      if (thrown) std::rethrow_exception(thrown);
    }
  };
  CHECK_THROWS_WITH(w.context->run(recursive::fail(50'000)), "innermost");
}

PROMISE(destroyed_before_start, each_engine, "tasks that are destroyed before the innermost has started never start") {
  int started = 0;
  const auto await_nest = [](auto& handle, int& count) -> destructible {
    co_await publish{handle};
    co_await count_started(5'000, count);
  };
  const auto start_and_destroy = [&](int& count) -> qio::task<> {
    std::coroutine_handle<> outermost;
    await_nest(outermost, count);
    outermost.destroy();
    co_return;
  };
  w.context->run(start_and_destroy(started));
  const int until_destroyed = started;
  CHECK(until_destroyed < 5'000);  // otherwise none was left to start later
  while (w.context->poll()) {}
  CHECK(started == until_destroyed);
}

PROMISE(destroyed_when_resumed, each_engine,
        "a task that an operation resumed may destroy the coroutine that awaits it") {
  auto file = w.with(4096);
  memory buffer(4096);
  std::coroutine_handle<> outermost;
  int gone = 0;
  const auto read_and_destroy = [](auto& from, std::span<std::byte> into, auto& handle, int& count) -> qio::task<> {
    static_cast<void>(co_await from.async_read_at(0, into));
    co_await destroy_from(1, handle, count);
  };
  const auto await_task = [&](auto& handle, int& count) -> destructible {
    co_await publish{handle};
    co_await read_and_destroy(file, buffer.all(), handle, count);
  };
  await_task(outermost, gone);
  w.context->run();
  CHECK(outermost == nullptr);
  CHECK(gone == 2);
}

PROMISE(open_and_close, asynchronous, "async_open and async_close return what open and close do") {
  using mode = typename Where::mode;
  const auto work = [](auto& on, const directory& where) -> qio::task<bool> {
    const auto missing = co_await qio::basic_file<mode>::async_open(on, where / "missing");
    if (missing || missing.error() != std::errc::no_such_file_or_directory) co_return false;
    auto opened =
        co_await qio::basic_file<mode>::async_open(on, where / "new", access::read_write, creation::if_needed);
    if (!opened) co_return false;
    auto file = std::move(opened).value();
    memory block = memory::with_pattern(0, 4096);
    const auto written = co_await file.async_write_at(0, block.all());
    if (!written || written.value() != 4096) co_return false;
    const auto closed = co_await file.async_close();
    if (!closed || file.is_open()) co_return false;
    const auto again = co_await qio::basic_file<mode>::async_open(on, where / "new");
    co_return again&& again.value().size().value() == 4096;
  };
  CHECK(w.context->run(work(*w.context, w.where)));
}

}  // namespace contract
