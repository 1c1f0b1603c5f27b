// Tasks in a scope.
#include "reader.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <optional>
#include <stdexcept>
#include <stop_token>

namespace contract {

namespace {

template <class World>
qio::task<void> read_block(typename World::file& file, std::uint64_t offset, int& right) {
  memory block(4096);
  const auto bytes = co_await file.async_read_at(offset, block.all());
  right += bytes && bytes.value() == 4096 && holds_pattern(block.all(), offset);
}

qio::task<void> fail(std::string why) {
  throw std::runtime_error(why);
  co_return;
}

/// Continues when somebody calls open().
class gate {
 public:
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
  void await_resume() const noexcept {}
  void open() { waiting_.resume(); }

 private:
  std::coroutine_handle<> waiting_;
};

/// Counts objects that exist.
class counted {
 public:
  explicit counted(int& count) : count_(count) { ++count_; }
  counted(const counted&) = delete;
  ~counted() { --count_; }

 private:
  int& count_;
};

qio::task<void> wait_at(gate& closed, int& alive, bool& passed) {
  const counted frame(alive);
  co_await closed;
  passed = true;
}

}  // namespace

PROMISE(scope_joins, asynchronous, "a task_scope runs tasks at the same time, and join() waits for all of them") {
  auto file = w.with(32 * 4096);
  int right = 0;
  const auto work = [&]() -> qio::task<std::size_t> {
    qio::task_scope scope(*w.context);
    co_await scope.join();  // there is none yet
    for (std::uint64_t i = 0; i < 32; ++i) scope.spawn(read_block<world<Where>>(file, i * 4096, right));
    co_await scope.join();
    scope.spawn(read_block<world<Where>>(file, 0, right));
    co_await scope.join();
    co_return scope.size();
  };
  CHECK(w.context->run(work()) == 0);
  CHECK(right == 33);
}

PROMISE(scope_outside, each_engine, "a task spawned outside run() starts in the next run() or poll()") {
  auto file = w.with(4096);
  int right = 0;
  qio::task_scope scope(*w.context);
  scope.spawn(read_block<world<Where>>(file, 0, right));
  scope.spawn(read_block<world<Where>>(file, 0, right));
  CHECK(scope.size() == 2);
  CHECK(right == 0);
  w.context->poll();
  w.context->run();
  CHECK(scope.is_empty());
  CHECK(right == 2);
}

PROMISE(scope_never_run, each_engine, "tasks that never started are destroyed with their scope") {
  gate closed;
  int alive = 0;
  bool passed = false;
  {
    qio::task_scope scope(*w.context);
    scope.spawn(wait_at(closed, alive, passed));
  }
  CHECK(!w.context->poll());
  CHECK(alive == 0);
  CHECK(!passed);
}

PROMISE(scope_destroys, asynchronous, "the destructor of a task_scope cancels operations and destroys tasks") {
  auto file = w.with(32 * 4096);
  int right = 0, alive = 0;
  bool passed = false;
  gate closed;
  std::stop_token token;
  {
    qio::task_scope scope(*w.context);
    token = scope.stop_token();
    for (std::uint64_t i = 0; i < 32; ++i) scope.spawn(read_block<world<Where>>(file, i * 4096, right));
    scope.spawn(wait_at(closed, alive, passed));
    w.context->poll();
    CHECK(alive == 1);
    CHECK(!token.stop_requested());
  }
  CHECK(token.stop_requested());
  CHECK(alive == 0);
  CHECK(!passed);
  w.context->run();
  CHECK(right <= 32);
}

PROMISE(scope_destroyed_joining, each_engine, "a coroutine may be destroyed while it awaits join() or join_one()") {
  gate closed;
  int alive = 0, continued = 0;
  bool passed = false;
  const auto join_own = [&]() -> qio::task<void> {
    qio::task_scope own(*w.context);
    own.spawn(wait_at(closed, alive, passed));
    co_await own.join();
    ++continued;
  };
  const auto join_one_of = [&](qio::task_scope& scope) -> qio::task<void> {
    co_await scope.join_one();
    ++continued;
  };
  {
    qio::task_scope outer(*w.context);
    outer.spawn(join_own());
    w.context->poll();
    CHECK(alive == 1);
  }
  CHECK(alive == 0);

  qio::task_scope lasting(*w.context);
  lasting.spawn(wait_at(closed, alive, passed));
  for (int i = 0; i < 2; ++i) {
    qio::task_scope outer(*w.context);
    outer.spawn(join_one_of(lasting));
    w.context->poll();
  }
  closed.open();
  w.context->poll();
  CHECK(lasting.is_empty());
  CHECK(passed);
  CHECK(continued == 0);
  w.context->run(join_one_of(lasting));
  CHECK(continued == 1);
}

PROMISE(scope_throws, each_engine, "join() throws the first exception, once, after all tasks have finished") {
  gate closed;
  int alive = 0;
  bool passed = false;
  std::optional<qio::task_scope> scope(std::in_place, *w.context);
  const auto caught = [](qio::task_scope& joined) -> qio::task<std::string> {
    try {
      co_await joined.join();
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
    co_return "nothing";
  };
  scope->spawn(fail("first"));
  scope->spawn(fail("second"));
  CHECK(w.context->run(caught(*scope)) == "first");
  CHECK(w.context->run(caught(*scope)) == "nothing");

  scope->spawn(fail("third"));
  scope->spawn(wait_at(closed, alive, passed));
  const auto open = [&]() -> qio::task<void> {
    co_await w.context->schedule();  // after the task that waits there has started
    CHECK(scope->size() == 1);
    closed.open();
  };
  const auto both = [&]() -> qio::task<std::string> {
    const auto [message, nothing] = co_await qio::when_all(caught(*scope), open());
    static_cast<void>(nothing);
    co_return message;
  };
  CHECK(w.context->run(both()) == "third");
  CHECK(passed);
  scope.reset();
}

PROMISE(scope_discards, each_engine, "what leaves a task is discarded if nobody joins") {
  qio::task_scope scope(*w.context);
  scope.spawn(fail("nobody looks"));
  w.context->poll();
  CHECK(scope.is_empty());
}

PROMISE(scope_joins_one, each_engine, "join_one() continues when a task has finished, and counts each of them once") {
  gate closed[3];
  int alive = 0;
  bool passed = false;
  std::vector<bool> joined;
  qio::task_scope scope(*w.context);
  const auto join = [&](std::size_t times) -> qio::task<void> {
    for (std::size_t i = 0; i < times; ++i) joined.push_back(co_await scope.join_one());
  };
  const auto open = [&](gate& one) -> qio::task<void> {
    co_await w.context->schedule();
    one.open();
  };
  w.context->run(join(1));
  CHECK(joined == std::vector{false});  // there is none

  for (gate& each : closed) scope.spawn(wait_at(each, alive, passed));
  w.context->run(qio::when_all(join(1), open(closed[1])));
  CHECK(joined == std::vector{false, true});
  CHECK(alive == 2);

  closed[0].open();  // before somebody joins
  closed[2].open();
  w.context->poll();
  CHECK(scope.is_empty());
  w.context->run(join(3));
  CHECK(joined == std::vector{false, true, true, true, false});

  scope.spawn(wait_at(closed[0], alive, passed));
  w.context->poll();
  CHECK(scope.size() == 1);
  closed[0].open();
  const auto join_all = [&]() -> qio::task<void> { co_await scope.join(); };
  w.context->run(join_all());
  w.context->run(join(1));
  CHECK(joined.back() == false);  // join() has counted all
}

PROMISE(scope_joins_one_throws, each_engine, "join_one() throws what left a task, once") {
  qio::task_scope scope(*w.context);
  const auto caught = [&]() -> qio::task<std::string> {
    try {
      co_return co_await scope.join_one() ? "one" : "none";
    } catch (const std::runtime_error& error) {
      co_return error.what();
    }
  };
  scope.spawn(fail("first"));
  CHECK(w.context->run(caught()) == "first");
  CHECK(w.context->run(caught()) == "none");
}

PROMISE(scope_bounds, asynchronous, "join_one() keeps the number of tasks in flight below a bound") {
  auto file = w.with(32 * 4096);
  int right = 0, alive = 0, most = 0;
  const auto read = [&](std::uint64_t offset) -> qio::task<void> {
    const counted frame(alive);
    most = std::max(most, alive);
    co_await read_block<world<Where>>(file, offset, right);
  };
  const auto work = [&]() -> qio::task<void> {
    qio::task_scope scope(*w.context);
    for (std::uint64_t i = 0; i < 32; ++i) {
      while (scope.size() >= 4) CHECK(co_await scope.join_one());
      scope.spawn(read(i * 4096));
    }
    co_await scope.join();
  };
  w.context->run(work());
  CHECK(right == 32);
  CHECK(most <= 4);
}

PROMISE(scope_stops, asynchronous, "request_stop() ends the operations that were given the scope's token") {
  if (!os::why_stops_hang.empty()) QIO_SKIP(std::string(os::why_stops_hang));
  auto file = w.with(4096);
  std::vector<qio::result<std::size_t>> answers;
  const auto read = [&](std::stop_token stop) -> qio::task<void> {
    memory block(4096);
    co_await w.context->schedule();
    answers.push_back(co_await file.async_read_at(0, block.all(), {.stop = stop}));
  };
  const auto work = [&]() -> qio::task<void> {
    qio::task_scope scope(*w.context);
    scope.spawn(read(scope.stop_token()));
    scope.request_stop();
    scope.spawn(read(scope.stop_token()));
    co_await scope.join();
  };
  w.context->run(work());
  REQUIRE(answers.size() == 2);
  for (const auto& each : answers) CHECK(each.error() == std::errc::operation_canceled);
}

PROMISE(scope_ends_in_spawn, each_engine, "a scope may end inside spawn(), once the task that was spawned has ended") {
  std::optional<qio::task_scope> scope(std::in_place, *w.context);
  bool is_joined = false, waits = true;
  gate opened;
  scope->spawn([](gate& until) -> qio::task<void> { co_await until; }(opened));
  const auto join_and_end = [&]() -> qio::task<void> {
    is_joined = co_await scope->join_one();
    scope.reset();
    waits = false;
  };
  qio::task_scope outer(*w.context);
  outer.spawn(join_and_end());
  w.context->poll();
  REQUIRE(!is_joined);
  qio::posted_call call([&scope] { scope->spawn([]() -> qio::task<void> { co_return; }()); });
  w.context->post(call);
  while (waits) w.context->poll();
  CHECK(is_joined);
}

PROMISE(polled_within, each_engine_of_the_system,
        "a coroutine may poll another context, for which others of its own context wait") {
  auto other = world<Where>::new_context().value();
  bool has_slept = false;
  const auto poll = [&]() -> qio::task<void> {
    while (!has_slept) {
      other.poll();
      static_cast<void>(co_await w.context->sleep_for(std::chrono::microseconds(100)));
    }
  };
  const auto sleep = [&]() -> qio::task<void> {
    static_cast<void>(co_await other.sleep_for(std::chrono::milliseconds(1)));
    has_slept = true;
  };
  w.context->run(qio::when_all(poll(), sleep()));
  CHECK(has_slept);
}

}  // namespace contract
