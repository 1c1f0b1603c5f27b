// Contexts and threads: tasks that visit another context, and contexts that have not run yet.
#include "coroutines.hpp"
#include "reader.hpp"
#include "world.hpp"

#include <coroutine>
#include <deque>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace contract {
namespace {

using qio_test::detached;
using qio_test::event;
using qio_test::until;

/// A context with a thread of its own, which runs it until stop() or the end of the scope.
template <class Where>
class neighbor {
 public:
  neighbor() : thread_([this] { world_.context->run(until(stopped_)); }) {}
  ~neighbor() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    set(stopped_);
    thread_.join();
  }

  /// Sets `what` on the neighbor's thread.
  void set(event& what) {
    [](auto& context, event& chosen) -> detached {
      co_await context.schedule();
      chosen.set();
    }(*world_.context, what);
  }

  auto schedule() { return world_.context->schedule(); }
  world<Where>& at_home() { return world_; }

 private:
  world<Where> world_;
  event stopped_;
  std::thread thread_;
};

template <class Where>
qio::task<std::thread::id> visit(neighbor<Where>& other) {
  co_await other.schedule();
  co_return std::this_thread::get_id();
}

}  // namespace

PROMISE(visit_ends_run, each_engine, "run() returns if its task finishes on another context's thread") {
  neighbor<Where> other;
  for (int round = 0; round < 50; ++round) CHECK(w.context->run(visit(other)) != std::this_thread::get_id());
}

PROMISE(visit_returns, each_engine,
        "a coroutine that awaits a task continues on its own context, even if the task finishes on another") {
  neighbor<Where> other;
  const auto here = std::this_thread::get_id();
  const auto outer = [&]() -> qio::task<int> {
    int right = 0;
    for (int round = 0; round < 50; ++round) {
      const auto there = co_await visit(other);
      right += there != here && std::this_thread::get_id() == here;
    }
    co_return right;
  };
  CHECK(w.context->run(outer()) == 50);
}

PROMISE(visits_joined, each_engine, "when_all joins tasks that finish on the threads of several contexts") {
  neighbor<Where> one, two;
  const auto here = std::this_thread::get_id();
  const auto both = [&](int& right) -> qio::task<> {
    for (int round = 0; round < 20; ++round) {
      std::vector<qio::task<std::thread::id>> visits;
      for (int i = 0; i < 8; ++i) visits.push_back(visit(i % 2 == 0 ? one : two));
      const auto threads = co_await qio::when_all(std::move(visits));
      right +=
          threads[0] != here && threads[1] != here && threads[0] != threads[1] && std::this_thread::get_id() == here;
    }
  };
  int right = 0;
  w.context->run(both(right));
  CHECK(right == 20);
}

PROMISE(visit_throws, each_engine,
        "an exception that a task throws on another context is rethrown where the task was started") {
  neighbor<Where> other;
  const auto failing = [](neighbor<Where>& there) -> qio::task<int> {
    co_await there.schedule();
    throw std::runtime_error("abroad");
  };
  CHECK_THROWS_WITH(w.context->run(failing(other)), "abroad");
  CHECK_THROWS_WITH(w.context->run(qio::when_all(failing(other), visit(other))), "abroad");
}

PROMISE(visit_transfers, each_engine, "a task may use files of several contexts, one context after another") {
  neighbor<Where> other;
  auto source = memory::with_pattern(0, 4096);
  memory target(4096);
  auto here = w.with(4096);
  const auto copy = [&]() -> qio::task<bool> {
    co_await other.schedule();
    auto there = other.at_home().open("data", access::read_write, creation::always_new).value();
    const auto written = co_await there.async_write_at(0, source.all());
    const auto closed = there.close();
    co_await w.context->schedule();
    const auto read = co_await here.async_read_at(0, target.all());
    co_return written.value() == 4096 && closed&& read.value() == 4096 && holds_pattern(target.all(), 0);
  };
  CHECK(w.context->run(copy()));
}

PROMISE(visit_outlives_home, each_engine,
        "a task whose context has been destroyed meanwhile finishes on the current thread") {
  neighbor<Where> other;
  event released;
  std::thread::id finished, there;
  const auto visitor = [&]() -> qio::task<> {
    co_await other.schedule();
    there = std::this_thread::get_id();
    co_await until(released);
  };
  const auto waits = [&]() -> detached {
    co_await visitor();
    finished = std::this_thread::get_id();
  };
  {
    world<Where> home;
    const auto starts = [&]() -> qio::task<> {
      waits();
      co_return;
    };
    home.context->run(starts());
  }
  other.set(released);
  other.stop();
  CHECK(finished == there);
  CHECK(finished != std::thread::id());
}

PROMISE(visit_given_up, each_engine,
        "a task that finished on another context may be destroyed before it returns to its own") {
  bool resumed = false;
  neighbor<Where> other;
  // A coroutine type of the user's own, whose frame stays until it is destroyed.
  struct kept {
    struct promise_type {
      kept get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
      std::suspend_never initial_suspend() const noexcept { return {}; }
      std::suspend_always final_suspend() const noexcept { return {}; }
      void return_void() const noexcept {}
      void unhandled_exception() const noexcept { std::terminate(); }
    };
    std::coroutine_handle<promise_type> coroutine;
  };
  const auto waits = [&]() -> kept {
    static_cast<void>(co_await visit(other));
    resumed = true;
  };
  std::coroutine_handle<> suspended;
  const auto starts = [&]() -> qio::task<> {
    suspended = waits().coroutine;
    co_return;
  };
  w.context->run(starts());
  other.stop();  // then the visit has finished
  suspended.destroy();
  while (w.context->poll()) {}
  CHECK(!resumed);
}

PROMISE(not_bound_by_destruction, asynchronous,
        "a context that has not run is not bound to a thread that destroys its operations or closes its files") {
  auto kept = w.with(4096);
  reader<world<Where>> later(4096);
  std::thread([&] {
    memory buffer(4096);
    auto same = memory::with_pattern(0, 4096);
    {
      auto never_run = kept.async_read_at(0, buffer.all());
      never_run.start([](qio::result<std::size_t>) {});
      auto another = kept.async_write_at(0, same.all());
      another.start([](qio::result<std::size_t>) {});
    }
    reader<world<Where>> orphan(4096);
    {
      auto closed = w.open("data", access::read, creation::open_existing).value();
      orphan.start(closed, 0);
    }
    auto also_closed = w.open("data", access::read_write, creation::open_existing).value();
    auto sync = also_closed.async_sync();
    sync.start([](qio::result<void>) {});
    CHECK(also_closed.close());
    later.start(kept, 0);
  }).join();
  w.context->run();
  CHECK(later.is_right());
}

PROMISE(not_bound_by_workers, each_engine,
        "a context that has not run is not bound to a thread that closes a file while a worker has its operation") {
  auto kept = w.with(4096);
  std::thread([&] {
    for (int round = 0; round < 20; ++round) {
      auto closed = w.open("data", access::read_write, creation::open_existing).value();
      auto resize = closed.async_resize(4096);
      resize.start([](qio::result<void>) {});
      if (round % 2 == 0) CHECK(closed.close());
    }
  }).join();
  reader<world<Where>> later(4096);
  later.start(kept, 0);
  w.context->run();
  CHECK(later.is_right());
}

PROMISE(not_bound_by_end, each_engine, "a context that has never run may be destroyed by any thread") {
  auto other = std::make_unique<world<Where>>();
  auto file = other->with(4096);
  std::deque<reader<world<Where>>> readers;
  for (int i = 0; i < 3; ++i) readers.emplace_back(4096).start(file, 0);
  std::thread([&] { other->context.reset(); }).join();
  for (auto& each : readers) CHECK(each.is_real());
}

}  // namespace contract
