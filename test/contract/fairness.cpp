// Coroutines that always have something to do, beside others that wait.
#include "world.hpp"
#include <qio/task_scope.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <span>
#include <stop_token>

namespace contract {

namespace {

/// Ends what would otherwise go on forever. Only a test that fails waits for it.
class patience {
 public:
  bool is_over() {
    if (++asked_ % 1024 == 0) is_over_ = std::chrono::steady_clock::now() > end_;
    return is_over_;
  }

 private:
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  unsigned asked_ = 0;
  bool is_over_ = false;
};

template <class World>
struct fairness {
  World& w;
  typename World::file file = w.with(4096);
  memory buffer{4096}, other{4096};
  patience left{};
  unsigned waiting = 0;  // coroutines
  std::stop_source all_have_waited{};

  bool is_over() { return waiting == 0 || left.is_over(); }
  void one_has_waited() {
    if (--waiting == 0) all_have_waited.request_stop();
  }

  qio::task<void> sleep() {
    static_cast<void>(co_await w.context->sleep_for(std::chrono::milliseconds(1)));
    one_has_waited();
  }
  qio::task<void> read() {
    for (int i = 0; i < 3; ++i) static_cast<void>(co_await file.async_read_at(0, other.all()));
    one_has_waited();
  }

  /// `turn()` is called until a sleep has ended and a read has completed, while `spin()` always has something to do.
  template <class Spin, class Turn>
  void check(Spin&& spin, Turn&& turn) {
    qio::task_scope scope(*w.context);
    waiting = 2;
    all_have_waited = {};
    scope.spawn(spin());
    scope.spawn(sleep());
    scope.spawn(read());
    while (!is_over()) turn();
    CHECK(waiting == 0);
    waiting = 0;
    while (!scope.is_empty()) w.context->run_one();
  }
  template <class Spin>
  void check_all(Spin&& spin) {
    check(spin, [&] { w.context->run_one(); });
    check(spin, [&] { w.context->poll(); });
    check(spin, [&] { w.context->run_until(all_have_waited.get_token()); });
  }
};

}  // namespace

PROMISE(fair_to_schedule, asynchronous, "a coroutine that awaits schedule() again and again keeps nothing waiting") {
  fairness<world<Where>> fair{w};
  fair.check_all([&fair, &w]() -> qio::task<void> {
    while (!fair.is_over()) co_await w.context->schedule();
    fair.all_have_waited.request_stop();
  });
}

PROMISE(fair_to_hits, asynchronous, "a coroutine that reads what is in memory again and again keeps nothing waiting") {
  fairness<world<Where>> fair{w};
  fair.check_all([&fair]() -> qio::task<void> {
    while (!fair.is_over()) static_cast<void>(co_await fair.file.async_read_at(0, fair.buffer.all()));
    fair.all_have_waited.request_stop();
  });
}

PROMISE(fair_to_batches, asynchronous,
        "a coroutine that reads batches of what is in memory again and again keeps nothing waiting") {
  fairness<world<Where>> fair{w};
  std::array<qio::read_request, 3> few{};
  memory buffers(few.size() * 4096);
  for (std::size_t i = 0; i < few.size(); ++i) few[i].buffer = buffers.part(i * 4096, 4096);
  fair.check_all([&fair, &few]() -> qio::task<void> {
    while (!fair.is_over()) static_cast<void>(co_await fair.file.async_read_many(few));
    fair.all_have_waited.request_stop();
  });
}

PROMISE(turn_ended, asynchronous, "a turn of poll() ends when its time is used up, with completed operations left") {
  auto file = w.with(4096);
  using operation = decltype(file.async_read_at(0, std::span<std::byte>()));
  std::deque<qio::operation_slot<operation>> started;
  const auto start = [&](auto callback) {
    started.emplace_back().emplace([&] { return file.async_read_at(0, std::span<std::byte>()); }).start(callback);
  };
  // Empty operations count as work, so each of these takes a tenth of a turn, however fast the machine is.
  unsigned called = 0;
  const auto use_time = [&](const qio::result<std::size_t>&) {
    ++called;
    for (int i = 0; i < 300; ++i) start([](const qio::result<std::size_t>&) {});
  };
  for (int i = 0; i < 64; ++i) start(use_time);
  w.context->poll();
  CHECK(called == 16);
  w.context->run();
  CHECK(called == 64);
}

PROMISE(fair_to_empty, asynchronous, "a coroutine whose operations have nothing to do keeps nothing waiting") {
  fairness<world<Where>> fair{w};
  fair.check_all([&fair]() -> qio::task<void> {
    while (!fair.is_over()) static_cast<void>(co_await fair.file.async_read_at(0, std::span<std::byte>()));
    fair.all_have_waited.request_stop();
  });
}

PROMISE(fair_to_posts, asynchronous, "a posted call that uses up the time of each turn keeps no completion waiting") {
  auto file = w.with(4096);
  using operation = decltype(file.async_read_at(0, std::span<std::byte>()));
  struct state {
    world<Where>& w;
    decltype(file)& of;
    qio::posted_call* call = nullptr;
    std::deque<qio::operation_slot<operation>> started{};
    unsigned posted = 0, completed = 0;

    // Empty operations count as work, so these take more than a turn may.
    void post_again() {
      for (int i = 0; i < 3000; ++i)
        started.emplace_back()
            .emplace([this] { return of.async_read_at(0, std::span<std::byte>()); })
            .start([this](const qio::result<std::size_t>&) { ++completed; });
      if (++posted < 50 && completed == 0) w.context->post(*call);
    }
  } all{w, file};
  qio::posted_call call([&all] { all.post_again(); });
  all.call = &call;
  w.context->post(call);
  while (all.completed == 0) w.context->run_one();
  CHECK(all.posted < 3);
  w.context->run();
  CHECK(all.completed == all.started.size());
}

}  // namespace contract
