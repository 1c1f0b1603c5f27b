// Coroutines that are destroyed while they wait, by what they wait for.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace contract {

/// A coroutine that starts immediately, and stays until it is destroyed by its handle.
struct destructible {
  struct promise_type {
    destructible get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  std::coroutine_handle<promise_type> coroutine;
};

/// Publishes the handle of the coroutine that awaits it.
struct publish {
  std::coroutine_handle<>& handle;
  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> awaiting) const noexcept {
    handle = awaiting;
    return false;
  }
  void await_resume() const noexcept {}
};

/// When awaited, destroys `target`.
struct destruction {
  std::coroutine_handle<>& target;
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<>) const noexcept { std::exchange(target, nullptr).destroy(); }
  void await_resume() const noexcept {}
};

/// Counts its destruction.
struct end_counter {
  int& count;
  explicit end_counter(int& in) : count(in) {}
  end_counter(const end_counter&) = delete;
  ~end_counter() { ++count; }
};

}  // namespace contract
