// when_any on each engine.
#include "destroyed.hpp"
#include "reader.hpp"
#include <qio/when_any.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <exception>
#include <memory>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

namespace contract {

namespace {

using namespace std::chrono_literals;

/// Ends when a stop is requested, and counts that.
template <class Context>
qio::task<int> until_stopped(Context& on, std::stop_token stop, int& stopped) {
  const auto slept = co_await on.sleep_for(std::chrono::hours::max(), stop);
  stopped += slept.has_error() && slept.error() == std::errc::operation_canceled;
  co_return -1;
}

qio::task<int> at_once(int number) { co_return number; }

template <class Context>
qio::task<int> after(Context& on, int turns, int number) {
  for (int turn = 0; turn < turns; ++turn) co_await on.schedule();
  co_return number;
}

template <class Context>
qio::task<int> fail_after(Context& on, int turns, std::string why) {
  for (int turn = 0; turn < turns; ++turn) co_await on.schedule();
  throw std::runtime_error(why);
}

/// Never continues.
qio::task<> wait_forever(int& gone) {
  const end_counter here(gone);
  co_await std::suspend_always();
}

qio::task<> destroy(std::coroutine_handle<>& outermost, int& gone) {
  const end_counter here(gone);
  co_await destruction{outermost};
}

/// Continues on another thread.
struct baton {
  std::thread& other;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) const {
    std::thread& target = other;  // because this object may be gone before the thread has been assigned
    target = std::thread([handle] { handle.resume(); });
  }
  void await_resume() const noexcept {}
};

// Where nothing depends on how long the machine takes.
using simulated_time = std::tuple<under<qio::simulated, qio::cached>>;

}  // namespace

PROMISE(any_first, each_engine, "when_any returns the first value and its index, and stops the other tasks") {
  auto& on = *w.context;
  int stopped = 0;
  const auto answer = on.run(qio::when_any([&](std::stop_token stop) { return until_stopped(on, stop, stopped); },
                                           [&](std::stop_token) { return after(on, 3, 7); },
                                           [&](std::stop_token stop) { return until_stopped(on, stop, stopped); }));
  REQUIRE(answer.index() == 1);
  CHECK(std::get<1>(answer) == 7);
  CHECK(stopped == 2);
}

PROMISE(any_types, each_engine, "when_any takes tasks of different types, and lambdas that are coroutines") {
  auto& on = *w.context;
  const std::string text = "a text that is too long for the inside of a string";
  const auto race = [&](int winner) {
    return qio::when_any(
        [&, winner](std::stop_token) -> qio::task<std::unique_ptr<int>> {
          for (int turn = 0; turn < (winner == 0 ? 1 : 5); ++turn) co_await on.schedule();
          co_return std::make_unique<int>(winner);
        },
        [copy = text, &on, winner](std::stop_token) -> qio::task<std::string> {
          for (int turn = 0; turn < (winner == 1 ? 1 : 5); ++turn) co_await on.schedule();
          co_return copy;
        },
        [&, winner](const std::stop_token&) -> qio::task<> {
          for (int turn = 0; turn < (winner == 2 ? 1 : 5); ++turn) co_await on.schedule();
        });
  };
  CHECK(*std::get<0>(on.run(race(0))) == 0);
  CHECK(std::get<1>(on.run(race(1))) == text);
  CHECK(std::get<2>(on.run(race(2))) == qio::unit());
}

PROMISE(any_vector, each_engine, "when_any takes a number of tasks known at run time") {
  auto& on = *w.context;
  int stopped = 0;
  const auto race = [&](std::size_t count, std::size_t winner) {
    return qio::when_any([&, count, winner](std::stop_token stop) {
      std::vector<qio::task<int>> tasks;
      for (std::size_t i = 0; i < count; ++i)
        tasks.push_back(i == winner ? after(on, 2, static_cast<int>(i)) : until_stopped(on, stop, stopped));
      return tasks;
    });
  };
  for (const std::size_t winner : {0u, 57u, 99u}) {
    stopped = 0;
    const auto [index, value] = on.run(race(100, winner));
    CHECK(index == winner);
    CHECK(value == static_cast<int>(winner));
    CHECK(stopped == 99);
  }
  CHECK(on.run(race(1, 0)).index == 0);
  const auto none = on.run(qio::when_any([&](std::stop_token) {
    std::vector<qio::task<>> tasks;
    tasks.push_back([](auto& context) -> qio::task<> { co_await context.schedule(); }(on));
    return tasks;
  }));
  CHECK(none.value == qio::unit());
}

PROMISE(any_at_once, each_engine, "when_any does not start the tasks after one that finishes without waiting") {
  auto& on = *w.context;
  int stopped = 0;
  bool started = false;
  const auto note = [](bool& flag) -> qio::task<int> {
    flag = true;
    co_return 2;
  };
  const auto answer = on.run(qio::when_any([&](std::stop_token stop) { return until_stopped(on, stop, stopped); },
                                           [&](std::stop_token) { return at_once(1); },  //
                                           [&](std::stop_token) { return note(started); }));
  CHECK(answer.index() == 1);
  CHECK(stopped == 1);
  CHECK(!started);
}

PROMISE(any_same_turn, each_engine, "when several tasks finish in one turn, when_any returns one of them") {
  auto& on = *w.context;
  int finished = 0;
  const auto work = [&](int number) -> qio::task<int> {
    co_await on.schedule();
    ++finished;
    co_return number;
  };
  const auto [index, value] = on.run(qio::when_any([&](std::stop_token) {
    std::vector<qio::task<int>> tasks;
    for (int i = 0; i < 100; ++i) tasks.push_back(work(i));
    return tasks;
  }));
  CHECK(static_cast<int>(index) == value);
  CHECK(finished == 100);
}

PROMISE(any_throws, each_engine, "when_any throws the exception of the first task, and discards those of the others") {
  auto& on = *w.context;
  int stopped = 0;
  CHECK_THROWS_WITH(on.run(qio::when_any([&](std::stop_token stop) { return until_stopped(on, stop, stopped); },
                                         [&](std::stop_token) { return fail_after(on, 4, "late"); },
                                         [&](std::stop_token) { return fail_after(on, 2, "first"); })),
                    "first");
  CHECK(stopped == 1);
  const auto answer = on.run(qio::when_any([&](std::stop_token) { return fail_after(on, 4, "late"); },
                                           [&](std::stop_token) { return after(on, 2, 3); }));
  CHECK(answer.index() == 1);
  CHECK_THROWS_WITH(on.run(qio::when_any([&](std::stop_token) {
    std::vector<qio::task<int>> tasks;
    for (int i = 0; i < 3; ++i) tasks.push_back(fail_after(on, 3 - i, std::to_string(i)));
    return tasks;
  })),
                    "2");
}

PROMISE(any_cannot_start, each_engine, "if a function throws that when_any calls, no task starts") {
  auto& on = *w.context;
  int gone = 0;
  const auto thrower = [](std::stop_token) -> qio::task<> { throw std::runtime_error("no task"); };
  static_assert(std::is_same_v<decltype(thrower(std::stop_token())), qio::task<>>);
  CHECK_THROWS_WITH(on.run(qio::when_any([&](std::stop_token) { return wait_forever(gone); }, thrower)), "no task");
  CHECK(gone == 0);
}

PROMISE(any_waits, each_engine, "when_any waits for a task that ignores the stop") {
  auto& on = *w.context;
  bool finished = false;
  const auto slow = [&]() -> qio::task<int> {
    co_await after(on, 20, 0);
    finished = true;
    co_return 0;
  };
  const auto answer =
      on.run(qio::when_any([&](std::stop_token) { return slow(); }, [&](std::stop_token) { return after(on, 2, 1); }));
  CHECK(answer.index() == 1);
  CHECK(finished);
}

PROMISE(any_operations, asynchronous, "when_any cancels the operations of the tasks that it stops") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto file = w.with(32 * 4096);
  auto& on = *w.context;
  int answers = 0;
  const auto read = [&](std::uint64_t offset, std::stop_token stop) -> qio::task<bool> {
    memory block(4096);
    const auto bytes = co_await file.async_read_at(offset, block.all(), {.stop = stop});
    ++answers;
    if (!bytes) CHECK(bytes.error() == std::errc::operation_canceled);
    co_return bytes&& holds_pattern(block.all(), offset);
  };
  for (int round = 0; round < 20; ++round) {
    const auto first = on.run(qio::when_any([&](std::stop_token stop) {
      std::vector<qio::task<bool>> reads;
      for (std::uint64_t i = 0; i < 32; ++i) reads.push_back(read(i * 4096, stop));
      return reads;
    }));
    CHECK(first.value);
  }
  CHECK(answers >= 20);
}

PROMISE(any_timeout, simulated_time, "when_any of a task and a sleep is a limit on the time of the task") {
  auto& on = *w.context;
  const auto sleep = [&](std::chrono::nanoseconds time, std::stop_token stop) -> qio::task<qio::result<void>> {
    co_return co_await on.sleep_for(time, stop);
  };
  const auto first = [&](std::chrono::nanoseconds work, std::chrono::nanoseconds limit) {
    return on.run(qio::when_any([&](std::stop_token stop) { return sleep(work, stop); },
                                [&](std::stop_token stop) { return sleep(limit, stop); }));
  };
  CHECK(first(1h, 2h).index() == 0);
  CHECK(first(2h, 1h).index() == 1);
  CHECK(first(0h, 1h).index() == 0);
  CHECK(!on.next_deadline().exists());
}

PROMISE(any_passed_on, each_engine, "a stop of the token that when_any is given ends all tasks") {
  auto& on = *w.context;
  int stopped = 0;
  const auto inner = [&](std::stop_token given) {
    return qio::when_any(
        given, [&](std::stop_token stop) { return until_stopped(on, stop, stopped); },
        [&](std::stop_token stop) { return until_stopped(on, stop, stopped); });
  };
  const auto answer = on.run(qio::when_any(inner, [&](std::stop_token) { return after(on, 2, 5); }));
  CHECK(answer.index() == 1);
  CHECK(stopped == 2);

  std::stop_source before;
  before.request_stop();
  stopped = 0;
  CHECK(on.run(inner(before.get_token())).index() == 0);
  CHECK(stopped == 1);  // which finished at once, so that the other did not start
}

PROMISE(any_stopped_elsewhere, each_engine, "another thread may stop when_any at any time") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto& on = *w.context;
  for (int round = 0; round < 50; ++round) {
    int stopped = 0;
    std::stop_source source;
    const auto here = std::this_thread::get_id();
    bool is_elsewhere = false;
    const auto note = [&](std::stop_token stop) -> qio::task<int> {
      const std::stop_callback on_stop(stop, [&] { is_elsewhere = std::this_thread::get_id() != here; });
      co_return co_await until_stopped(on, stop, stopped);
    };
    std::thread stopper;
    const auto work = [&]() -> qio::task<> {
      stopper = std::thread([&source] { source.request_stop(); });
      co_await qio::when_any(source.get_token(), note,
                             [&](std::stop_token stop) { return until_stopped(on, stop, stopped); });
    };
    on.run(work());
    stopper.join();
    CHECK(stopped >= 1);
    CHECK(!is_elsewhere);  // the tasks learn of it on their own thread
  }
}

PROMISE(any_destroyed_under_stop, each_engine, "when_any may be destroyed while another thread stops it") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto& on = *w.context;
  for (int round = 0; round < 50; ++round) {
    int stopped = 0;
    std::stop_source source;
    std::jthread stopper;
    qio::task_scope scope(on);
    scope.spawn([](auto& context, std::stop_token given, int& count) -> qio::task<> {
      co_await qio::when_any(
          given, [&](std::stop_token stop) { return until_stopped(context, stop, count); },
          [&](std::stop_token stop) { return until_stopped(context, stop, count); });
    }(on, source.get_token(), stopped));
    on.poll();
    stopper = std::jthread([&source] { source.request_stop(); });
    if (round % 2 != 0) on.poll();
  }
}

PROMISE(any_destroyed, each_engine, "destroying a coroutine that awaits when_any destroys the tasks") {
  int gone = 0;
  {
    qio::task_scope scope(*w.context);
    scope.spawn([](int& count) -> qio::task<> {
      co_await qio::when_any([&](std::stop_token) { return wait_forever(count); },
                             [&](std::stop_token) { return wait_forever(count); });
    }(gone));
    w.context->poll();
    CHECK(scope.size() == 1);
  }
  CHECK(gone == 2);
}

PROMISE(any_destroyed_reading, asynchronous, "destroying when_any cancels and joins the operations of its tasks") {
  auto file = w.with(32 * 4096);
  int gone = 0;
  const auto read = [&](std::uint64_t offset, std::stop_token stop) -> qio::task<> {
    const end_counter here(gone);
    memory block(4096);
    co_await w.context->schedule();
    static_cast<void>(co_await file.async_read_at(offset, block.all(), {.stop = stop}));
    co_await std::suspend_always();
  };
  {
    qio::task_scope scope(*w.context);
    scope.spawn([](auto& reader) -> qio::task<> {
      co_await qio::when_any([&](std::stop_token stop) {
        std::vector<qio::task<>> reads;
        for (std::uint64_t i = 0; i < 32; ++i) reads.push_back(reader(i * 4096, stop));
        return reads;
      });
    }(read));
    w.context->poll();
  }
  CHECK(gone == 32);
}

PROMISE(any_destroyed_from_within, each_engine, "a task of when_any may destroy the coroutine that awaits them") {
  for (const std::size_t which : {0u, 1u, 2u}) {
    std::coroutine_handle<> outermost;
    int gone = 0;
    const auto await_any = [](auto& handle, std::size_t chosen, int& count) -> destructible {
      co_await publish{handle};
      co_await qio::when_any([&](std::stop_token) {
        std::vector<qio::task<>> tasks;
        for (std::size_t i = 0; i < 3; ++i) tasks.push_back(i == chosen ? destroy(handle, count) : wait_forever(count));
        return tasks;
      });
    };
    await_any(outermost, which, gone);
    CHECK(outermost == nullptr);
    CHECK(gone == static_cast<int>(which) + 1);  // those after it have not started
  }
}

PROMISE(any_destroyed_by_stop, each_engine, "what a stop calls back may destroy the coroutine that awaits when_any") {
  std::coroutine_handle<> outermost;
  int gone = 0;
  const auto await_any = [](auto& on, auto& handle, int& count) -> destructible {
    co_await publish{handle};
    co_await qio::when_any(
        [&](std::stop_token stop) -> qio::task<> {
          const end_counter here(count);
          const std::stop_callback on_stop(stop, [&handle] { std::exchange(handle, nullptr).destroy(); });
          co_await std::suspend_always();
        },
        [&](std::stop_token) { return after(on, 2, 0); });
  };
  for (int round = 0; round < 3; ++round) {
    await_any(*w.context, outermost, gone);
    while (outermost != nullptr) w.context->poll();
    CHECK(gone == round + 1);
  }
}

namespace {

/// A when_any within a when_any, `depth` times. The innermost task waits for a turn of `on` if `suspends`. Returns how
/// many there were.
template <class Context>
qio::task<int> nested_any(Context& on, int depth, bool suspends) {
  if (depth == 0) {
    if (suspends) co_await on.schedule();
    co_return 0;
  }
  const auto inner = co_await qio::when_any([&](std::stop_token) { return nested_any(on, depth - 1, suspends); });
  co_return std::get<0>(inner) + 1;
}

/// The same, but the innermost task waits for a stop, which each call passes on to the next.
template <class Context>
qio::task<int> nested_until_stopped(Context& on, int depth, std::stop_token given, int& stopped) {
  if (depth == 0) co_return co_await until_stopped(on, given, stopped) + 1;
  const auto inner = co_await qio::when_any(
      given, [&](std::stop_token stop) { return nested_until_stopped(on, depth - 1, stop, stopped); });
  co_return std::get<0>(inner) + 1;
}

}  // namespace

PROMISE(any_nested, each_engine, "when_any may be nested 50,000 deep, whether the innermost task suspends or not") {
  for (const bool suspends : {false, true}) CHECK(w.context->run(nested_any(*w.context, 50'000, suspends)) == 50'000);
}

PROMISE(any_nested_stop, each_engine, "a stop reaches tasks that are nested 50,000 deep in when_any") {
  auto& on = *w.context;
  int stopped = 0;
  const auto answer =
      on.run(qio::when_any([&](std::stop_token stop) { return nested_until_stopped(on, 50'000, stop, stopped); },
                           [&](std::stop_token) { return after(on, 2'000, 1); }));
  CHECK(answer.index() == 1);
  CHECK(stopped == 1);
}

PROMISE(any_on_threads, each_engine, "tasks of when_any may move to other threads") {
  auto& on = *w.context;
  const auto here = std::this_thread::get_id();
  for (int round = 0; round < 50; ++round) {
    std::thread others[3];
    const auto visit = [](std::thread& other) -> qio::task<std::thread::id> {
      co_await baton{other};
      co_return std::this_thread::get_id();
    };
    const auto work = [&]() -> qio::task<> {
      const auto first = co_await qio::when_any([&](std::stop_token) {
        std::vector<qio::task<std::thread::id>> visits;
        for (std::thread& each : others) visits.push_back(visit(each));
        return visits;
      });
      CHECK(first.value != here);
      CHECK(std::this_thread::get_id() == here);
    };
    on.run(work());
    for (std::thread& each : others) each.join();
  }
}

PROMISE(any_without_context, each_engine, "when_any works for tasks that no context runs, on any threads") {
  for (int round = 0; round < 50; ++round) {
    std::thread others[3];
    std::atomic<int> finished = 0;
    const auto visit = [](std::thread& other) -> qio::task<int> {
      co_await baton{other};
      co_return 1;
    };
    const auto work = [&]() -> destructible {
      const auto first = co_await qio::when_any([&](std::stop_token) {
        std::vector<qio::task<int>> visits;
        for (std::thread& each : others) visits.push_back(visit(each));
        return visits;
      });
      finished = first.value;
    };
    const auto coroutine = work().coroutine;
    for (std::thread& each : others)
      if (each.joinable()) each.join();  // some have not started if one finished before
    CHECK(finished == 1);
    coroutine.destroy();
  }
}

}  // namespace contract
