// Coroutines that tests use besides tasks.
#pragma once

#include <qio/task.hpp>

#include <coroutine>
#include <exception>
#include <utility>

namespace qio_test {

/// A coroutine that starts at once and that nothing awaits.
struct detached {
  struct promise_type {
    detached get_return_object() const noexcept { return {}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_never final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
};

/// Awaited and set on the same thread.
class event {
 public:
  event() = default;
  event(const event&) = delete;
  event& operator=(const event&) = delete;

  bool await_ready() const noexcept { return set_; }
  void await_suspend(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
  void await_resume() const noexcept {}

  void set() {
    set_ = true;
    if (waiting_) std::exchange(waiting_, nullptr).resume();
  }

 private:
  std::coroutine_handle<> waiting_;
  bool set_ = false;
};

inline qio::task<> until(event& what) { co_await what; }

}  // namespace qio_test
