// SPDX-License-Identifier: BSL-1.0
// task<T>: a coroutine that starts when it is awaited or run; when_all: several at once.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/mailbox.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

QIO_BEGIN_NAMESPACE

template <class T = void>
class task;

/// The value of a task<void> among the results of when_all() and when_any().
struct unit {
  /// Always true.
  friend constexpr bool operator==(unit, unit) noexcept { return true; }
};

namespace detail {

struct task_access;

/// Tells a function that is starting other coroutines whether its own object was destroyed by one of them.
class destruction_watch {
 public:
  destruction_watch() noexcept = default;
  destruction_watch(const destruction_watch&) = delete;
  destruction_watch& operator=(const destruction_watch&) = delete;
  ~destruction_watch() {
    if (destroyed_ != nullptr) *destroyed_ = true;
  }

  /// Calls `action()`. False if that destroyed this object.
  template <class Action>
  bool outlives(Action&& action) noexcept {
    bool destroyed = false;
    destroyed_ = &destroyed;
    action();
    if (destroyed) return false;
    destroyed_ = nullptr;
    return true;
  }

 private:
  bool* destroyed_ = nullptr;
};

/// Returned by an await_suspend(), lets `next` continue, even if it destroys the coroutine that is suspended.
QIO_ALWAYS_INLINE inline auto continue_with(std::coroutine_handle<> next) noexcept {
  if constexpr (QIO_SYMMETRIC_TRANSFER != 0)
    return next;
  else
    next.resume();
}

class task_promise_base : posted {
 public:
  ~task_promise_base() {
    if (is_posted) mailbox::withdraw_from(home_, *this);
  }

  std::suspend_always initial_suspend() const noexcept { return {}; }

  struct final_awaiter {
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    auto await_suspend(std::coroutine_handle<Promise> finished) const noexcept {
      return continue_with(finished.promise().next());
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  void unhandled_exception() noexcept { failure_ = std::current_exception(); }

  bool has_started() const noexcept { return continuation_ != nullptr; }

  /// Runs `self`, the coroutine of this promise, until it first suspends. True if `awaiting` is to stay suspended: it
  /// continues when the task has finished. (Symmetric transfer would be simpler, but GCC makes it a tail call from -O2
  /// on only; in a debug build a loop over tasks that never suspend would overflow the stack.) Never inlined, because
  /// Clang before 17 then keeps local variables in the frame of `awaiting`, which may be destroyed here.
  QIO_NOINLINE bool start(std::coroutine_handle<> self, std::coroutine_handle<> awaiting) noexcept {
    continuation_ = awaiting;
    home_ = running_loop;
    if (stack_between(running_from, QIO_STACK_POSITION()) > stack_for_tasks && start_later(self)) [[unlikely]]
      return true;
    return !begin(self);
  }

 protected:
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (failure_) std::rethrow_exception(failure_);
#endif
  }

 private:
  // True if the task has finished, and the awaiting coroutine is to continue. False also if it was destroyed.
  bool begin(std::coroutine_handle<> self) noexcept {
    return watch_.outlives([self] { self.resume(); }) && is_last_to_arrive();
  }

  // The stack is deep: the loop starts the task, from its own depth. False if no loop is running.
  QIO_COLD bool start_later(std::coroutine_handle<> self) noexcept {
    if (home_ == 0) return false;
    self_ = self;
    run = [](posted& node) noexcept {
      auto& task = static_cast<task_promise_base&>(node);
      if (task.begin(task.self_)) task.continuation_.resume();
    };
    return mailbox::post_to(home_, *this);
  }

  // What to run on this thread when the task has finished. Symmetric transfer takes no stack where the compiler makes
  // it a tail call; elsewhere each task that finishes in a row takes some.
  std::coroutine_handle<> next() noexcept {
    if (running_loop != home_ || stack_between(running_from, QIO_STACK_POSITION()) > stack_for_tasks) [[unlikely]]
      if (go_home()) return std::noop_coroutine();
    return is_last_to_arrive() ? continuation_ : std::noop_coroutine();
  }

  // The task has finished on another loop, on none, or deep in the stack: the loop that started it resumes the awaiting
  // coroutine. False if there is no such loop, or if it has ended.
  QIO_COLD bool go_home() noexcept {
    if (home_ == 0) return false;
    run = [](posted& node) noexcept {
      auto& finished = static_cast<task_promise_base&>(node);
      if (finished.is_last_to_arrive()) finished.continuation_.resume();
    };
    return mailbox::post_to(home_, *this);
  }

  // Two arrive here, once each: the task when it has finished, and start() when it returns. The last one lets the
  // awaiting coroutine continue. Atomic for tasks that were started on no loop, which may finish on any thread.
  bool is_last_to_arrive() noexcept { return one_has_arrived_.exchange(true, std::memory_order_acq_rel); }

  std::coroutine_handle<> continuation_;
  std::coroutine_handle<> self_;  // only if it starts later
  std::exception_ptr failure_;
  loop_number home_ = 0;  // the loop that the task was started on; 0 if on none
  destruction_watch watch_;
  std::atomic<bool> one_has_arrived_ = false;
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

/// A coroutine that returns a T. It runs once: it starts when it is awaited (`co_await std::move(task)`) or passed to
/// context.run(). co_await or run() rethrows an exception that leaves the coroutine.
///
/// A task finishes on the context that it was started on. Its coroutine may move to other threads, for example by
/// awaiting another context's schedule(), but whatever awaits the task continues inside run() or poll() of the context
/// that started it. If no context was running when the task started, or if that context has been destroyed meanwhile,
/// the awaiting coroutine continues on the thread where the task finished.
///
/// Tasks may nest to any depth on a context: when nested starts or finishes have used 64 KiB of the stack, the next one
/// is left to the next turn of run() or poll(). Without a context, the stack limits the depth. It also limits how many
/// nested suspended tasks can be destroyed together, because each frame's destructor destroys the next.
///
/// A task that is neither awaited nor run does nothing. Compilers warn about one that is discarded and, where they
/// know the attribute (GCC, Clang), about a variable of a task that is never used.
///
/// Movable until it starts. Destroying a task destroys its coroutine, and with it the operation that it waits for,
/// which is canceled and joined (see operation). A coroutine that suspends may destroy the coroutine that awaits it,
/// and so itself. Destroy a task on the thread where it is suspended.
///
/// Each call of a coroutine that returns a task allocates a frame.
template <class T>
class [[nodiscard]] QIO_WARN_UNUSED task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;  ///< what co_await returns

  /// Leaves `other` empty: awaiting it is a failed precondition.
  task(task&& other) noexcept : coroutine_(std::exchange(other.coroutine_, nullptr)) {}
  /// The same; destroys the coroutine that this task owned.
  task& operator=(task&& other) noexcept {
    task taken(std::move(other));
    std::swap(coroutine_, taken.coroutine_);
    return *this;
  }
  ~task() {
    if (coroutine_) coroutine_.destroy();
  }

  /// Starts the coroutine and waits for it: `co_await std::move(task)`, once. Rethrows an exception that left it.
  auto operator co_await() && noexcept {
    struct awaiter {
      std::coroutine_handle<promise_type> coroutine;
      bool await_ready(detail::caller from = detail::caller::here()) const noexcept {
        require_startable(coroutine, from);
        return false;
      }
      bool await_suspend(std::coroutine_handle<> awaiting) const noexcept {
        return coroutine.promise().start(coroutine, awaiting);
      }
      T await_resume() const { return coroutine.promise().take(); }
    };
    return awaiter{coroutine_};
  }

 private:
  friend promise_type;
  friend detail::task_access;

  // Checked in every configuration: to go on would resume a coroutine that does not exist or has ended.
  static void require_startable(std::coroutine_handle<promise_type> coroutine,
                                [[maybe_unused]] detail::caller from) noexcept {
    QIO_REQUIRE_AT(coroutine != nullptr, "an empty task was awaited or run: it has been moved from", from);
    QIO_REQUIRE_AT(!coroutine.promise().has_started(), "a task was awaited or run twice: it runs once", from);
  }
  explicit task(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

namespace detail {

/// For what takes tasks, and starts them in its own coroutines: it checks them where the program passes them.
struct task_access {
  template <class T>
  static void require_startable(const task<T>& work, caller from) noexcept {
    task<T>::require_startable(work.coroutine_, from);
  }
};

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(std::coroutine_handle<task_promise>::from_promise(*this));
}

inline task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(std::coroutine_handle<task_promise>::from_promise(*this));
}

/// Runs one task and calls a listener when it has finished. Owned by when_all, when_any and context.run().
class [[nodiscard]] started {
 public:
  /// Called last, on the thread where the task was started (see task), and returns what to resume next.
  struct listener {
    std::coroutine_handle<> (*finished)(listener&) noexcept;
  };

  struct promise_type {
    listener* on_finish = nullptr;
    std::exception_ptr failure;

    started get_return_object() noexcept { return started(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept {
      struct awaiter {
        bool await_ready() const noexcept { return false; }
        auto await_suspend(std::coroutine_handle<promise_type> finished) const noexcept {
          listener& waiting = *finished.promise().on_finish;
          return continue_with(waiting.finished(waiting));
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

  void start(listener& on_finish) noexcept {
    coroutine_.promise().on_finish = &on_finish;
    coroutine_.resume();
  }

  /// What the task threw. Call it when the task has finished.
  std::exception_ptr failure() const noexcept { return coroutine_.promise().failure; }

  /// Rethrows that.
  void rethrow() const {
#if defined(__cpp_exceptions)
    if (coroutine_.promise().failure) std::rethrow_exception(coroutine_.promise().failure);
#endif
  }

 private:
  explicit started(std::coroutine_handle<promise_type> coroutine) noexcept : coroutine_(coroutine) {}

  std::coroutine_handle<promise_type> coroutine_;
};

/// A task's value, as an object for every T.
template <class T>
using kept = std::conditional_t<std::is_void_v<T>, unit, T>;

/// Awaits `work` and puts its value into `value`.
template <class T>
started run_into(std::optional<kept<T>>& value, task<T> work) {
  task_access::require_startable(work, caller());  // where it was passed is not known here
  if constexpr (std::is_void_v<T>) {
    co_await std::move(work);
    value.emplace();
  } else {
    value.emplace(co_await std::move(work));
  }
}

/// Starts several tasks and waits until all have finished.
class join_all final : started::listener {
 public:
  explicit join_all(std::vector<started>& tasks) noexcept
      : listener{&join_all::one_finished}, tasks_(tasks), left_(tasks.size() + 1) {}

  bool await_ready() const noexcept { return tasks_.empty(); }
  // Not inlined: see task_promise_base::start().
  QIO_NOINLINE bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    awaiting_ = awaiting;
    for (started& each : tasks_)
      if (!watch_.outlives([&] { each.start(*this); })) return true;
    // One above the number of tasks: the last to count down resumes, here by not suspending.
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
  std::atomic<std::size_t> left_;  // atomic for tasks that were started on no loop, which may finish on any thread
  std::coroutine_handle<> awaiting_;
  destruction_watch watch_;
};

}  // namespace detail

/// Starts all tasks in order (see task for deep nesting), and finishes when all have finished. The result is a tuple in
/// the order of the arguments, with the T of each task<T>, or unit for a task<void>. If tasks throw, rethrows the
/// exception of the first of them in that order, after all have finished.
template <class... T>
task<std::tuple<detail::kept<T>...>> when_all(task<T>... tasks) {
  std::tuple<std::optional<detail::kept<T>>...> values;
  std::vector<detail::started> running;
  running.reserve(sizeof...(T));
  std::apply([&](auto&... value) { (running.push_back(detail::run_into<T>(value, std::move(tasks))), ...); }, values);
  detail::join_all all(running);
  co_await all;
  for (const detail::started& each : running) each.rethrow();
  co_return std::apply([](auto&... value) { return std::tuple<detail::kept<T>...>{std::move(*value)...}; }, values);
}

/// Like when_all() of single tasks, for a number of tasks that is known only at run time.
template <class T>
task<std::vector<detail::kept<T>>> when_all(std::vector<task<T>> tasks) {
  std::vector<std::optional<detail::kept<T>>> values(tasks.size());
  std::vector<detail::started> running;
  running.reserve(tasks.size());
  for (std::size_t index = 0; index < tasks.size(); ++index)
    running.push_back(detail::run_into<T>(values[index], std::move(tasks[index])));
  detail::join_all all(running);
  co_await all;
  for (const detail::started& each : running) each.rethrow();
  std::vector<detail::kept<T>> results;
  results.reserve(values.size());
  for (auto& each : values) results.push_back(std::move(*each));
  co_return results;
}

QIO_END_NAMESPACE
