// SPDX-License-Identifier: BSL-1.0
// task<T>: a coroutine that starts when it is awaited or run; when_all: several at once.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace qio {

template <class T = void>
class task;

namespace detail {

class task_promise_base {
 public:
  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      return finished.promise().is_second_there() ? finished.promise().continuation_ : std::noop_coroutine();
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  void continue_with(std::coroutine_handle<> continuation) noexcept { continuation_ = continuation; }

  /// Two come here once each: the task when it has finished, and who awaits it when starting it has returned. The
  /// second goes on. (Symmetric transfer alone would do without; but GCC makes a tail call of it only from -O2 on, and
  /// a loop over tasks that never suspend would overflow the stack of a debug build.)
  bool is_second_there() noexcept { return one_is_there_.exchange(true, std::memory_order_acq_rel); }

 protected:
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (failure_) std::rethrow_exception(failure_);
#endif
  }

 private:
  std::coroutine_handle<> continuation_ = std::noop_coroutine();
  std::exception_ptr failure_;
  std::atomic<bool> one_is_there_ = false;
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  task<T> get_return_object() noexcept;

  template <class Value>
    requires std::constructible_from<T, Value&&>
  void return_value(Value&& value) {
    value_.emplace(std::forward<Value>(value));
  }

  T take() {
    rethrow();
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
};

template <>
class task_promise<void> final : public task_promise_base {
 public:
  task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void take() const { rethrow(); }
};

}  // namespace detail

/// A coroutine's result to be. Nothing happens until it is awaited, or given to context.run(). Movable until then;
/// destroying it destroys the coroutine, and with it the operation that it waits for, which is cancelled and joined
/// (see operation). An exception that leaves the coroutine comes out of co_await or run().
///
/// Its frame is allocated by the compiler, once a call.
template <class T>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  task& operator=(task&& other) noexcept {
    task taken(std::move(other));
    std::swap(coroutine_, taken.coroutine_);
    return *this;
  }
  ~task() {
    if (coroutine_) coroutine_.destroy();
  }

  auto operator co_await() && noexcept {
    struct awaiter {
      std::coroutine_handle<promise_type> coroutine;
      bool await_ready() const noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> awaiting) const noexcept {
        const std::coroutine_handle<promise_type> started = coroutine;  // the awaiter may be gone when it has returned
        started.promise().continue_with(awaiting);
        started.resume();
        return !started.promise().is_second_there();
      }
      T await_resume() const { return coroutine.promise().take(); }
    };
    return awaiter{coroutine_};
  }

 private:
  friend promise_type;
  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// Runs one task and tells a counter when it is over. Owned by when_all and context.run().
class [[nodiscard]] started {
 public:
  /// What is told: on the thread that finishes the task, last.
  struct listener {
    std::coroutine_handle<> (*finished)(listener&) noexcept;
  };

  struct promise_type {
    listener* told = nullptr;
    std::exception_ptr failure;

    started get_return_object() noexcept { return started(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept {
      struct awaiter {
        bool await_ready() const noexcept { return false; }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<promise_type> finished) const noexcept {
          listener& waiting = *finished.promise().told;
          return waiting.finished(waiting);
        }
        void await_resume() const noexcept {}
      };
      return awaiter{};
    }
    void return_void() const noexcept {}
    void unhandled_exception() noexcept { failure = std::current_exception(); }
  };

  started(started&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  started& operator=(started&&) = delete;
  ~started() {
    if (coroutine_) coroutine_.destroy();
  }

  void start(listener& told) noexcept {
    coroutine_.promise().told = &told;
    coroutine_.resume();
  }

  /// What the task threw, when it is over.
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (coroutine_.promise().failure) std::rethrow_exception(coroutine_.promise().failure);
#endif
  }

 private:
  explicit started(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

/// A task's value, in a form that can be kept for any T.
template <class T>
using kept = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

/// Awaits `work` and puts its value into `value`.
template <class T>
started run_into(std::optional<kept<T>>& value, task<T> work) {
  if constexpr (std::is_void_v<T>) {
    co_await std::move(work);
    value.emplace();
  } else {
    value.emplace(co_await std::move(work));
  }
}

/// Awaits several started tasks. Counts with an atomic, since tasks may finish on the threads of several contexts.
class join_all final : started::listener {
 public:
  explicit join_all(std::vector<started>& tasks) noexcept
      : listener{&join_all::one_finished}, tasks_(tasks), left_(tasks.size() + 1) {}

  bool await_ready() const noexcept { return tasks_.empty(); }
  bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    awaiting_ = awaiting;
    for (started& each : tasks_) each.start(*this);
    // The one above the number of tasks: whoever counts it down to zero resumes, here by not suspending.
    return left_.fetch_sub(1, std::memory_order_acq_rel) != 1;
  }
  void await_resume() const noexcept {}

 private:
  static std::coroutine_handle<> one_finished(listener& self) noexcept {
    auto& all = static_cast<join_all&>(self);
    if (all.left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return std::noop_coroutine();
    return all.awaiting_;
  }

  std::vector<started>& tasks_;
  std::atomic<std::size_t> left_;
  std::coroutine_handle<> awaiting_;
};

}  // namespace detail

/// Starts all, in order, and is over when all are. The answer is a tuple in the order of the arguments, with
/// std::monostate for a task<void>. If several fail by exception, the first in that order comes out, after all have
/// ended.
template <class... T>
task<std::tuple<detail::kept<T>...>> when_all(task<T>... tasks) {
  std::tuple<std::optional<detail::kept<T>>...> values;
  std::vector<detail::started> running;
  running.reserve(sizeof...(T));
  std::apply([&](auto&... value) { (running.push_back(detail::run_into<T>(value, std::move(tasks))), ...); }, values);
  co_await detail::join_all(running);
  for (const detail::started& each : running) each.rethrow();
  co_return std::apply([](auto&... value) { return std::tuple<detail::kept<T>...>{std::move(*value)...}; }, values);
}

/// The same for a number of tasks known at run time.
template <class T>
task<std::vector<detail::kept<T>>> when_all(std::vector<task<T>> tasks) {
  std::vector<std::optional<detail::kept<T>>> values(tasks.size());
  std::vector<detail::started> running;
  running.reserve(tasks.size());
  for (std::size_t index = 0; index < tasks.size(); ++index)
    running.push_back(detail::run_into<T>(values[index], std::move(tasks[index])));
  co_await detail::join_all(running);
  for (const detail::started& each : running) each.rethrow();
  std::vector<detail::kept<T>> results;
  results.reserve(values.size());
  for (auto& each : values) results.push_back(std::move(*each));
  co_return results;
}

}  // namespace qio
