// SPDX-License-Identifier: BSL-1.0
// task_scope: tasks that run concurrently, and end before the scope does.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/context.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/task.hpp>

#include <coroutine>
#include <cstddef>
#include <exception>
#include <memory>
#include <stop_token>
#include <utility>

QIO_BEGIN_NAMESPACE

/// Owns tasks that run at the same time on one context: one for each connection of a server, for example.
///
///     qio::task_scope scope(context);
///     for (const auto& each : paths) scope.spawn(index(each, scope.stop_token()));
///     co_await scope.join();
///
/// No task outlives its scope. The destructor requests a stop and destroys what has not finished, which cancels the
/// operations that these tasks wait for and waits until the system no longer uses their memory. To let tasks finish,
/// await join() first.
///
/// To wait for some among many, for example in order to keep 32 in flight:
///
///     while (scope.size() >= 32) co_await scope.join_one();
///
/// Belongs to the context's thread, like the context's operations. A task that has moved to another context must be
/// back before its scope is destroyed (see task; checked where QIO_CHECKS is 1 if it waits there). Not movable. A
/// spawned task must not destroy its own scope (checked until it first suspends).
class task_scope {
 public:
  /// A scope without tasks, for tasks of that context.
  template <class Engine>
  explicit task_scope(const basic_context<Engine>& on) : loop_(on.shared_loop()) {}
  task_scope(const task_scope&) = delete;
  task_scope& operator=(const task_scope&) = delete;
  ~task_scope() {
    QIO_CHECK_AT(joining_ == nullptr, "a task_scope was destroyed while a coroutine awaited join() or join_one()",
                 detail::caller());
    for (starting* each = starting_; each != nullptr; each = each->outer) {
      QIO_CHECK_AT(each->task == nullptr, "a task_scope was destroyed by a task that it was starting",
                   detail::caller());
      each->is_scope_gone = true;
    }
    if (!is_empty())
      loop_->require_own_thread(
          "a task_scope was destroyed before its tasks ended, by another thread than its context's");
    request_stop();
    while (!is_empty()) first_->destroy();
    if (joining_ != nullptr) joining_->scope = nullptr;
  }

  /// Takes `work` and starts it: at once if the context is running on this thread, otherwise in its next run() or
  /// poll(). Allocates a coroutine frame, which is freed when `work` has finished.
  void spawn(task<void> work, detail::caller from = detail::caller::here()) {
    loop_->require_own_thread("a task was spawned in a task_scope by another thread than its context's", from);
    detail::task_access::require_startable(work, from);
    member* const added = carry_out(std::move(work)).promise;
    added->owner = this;
    added->previous = nullptr;
    added->next = first_;
    if (first_ != nullptr) first_->previous = added;
    first_ = added;
    ++size_;
    starting now{added, starting_};
    starting_ = &now;
    added->start();
    if (!now.is_scope_gone) starting_ = now.outer;
  }

  /// Awaited on this context, by one coroutine at a time: continues when no task is left, at once if there is none.
  /// Then throws the first exception that left a task since the last join() or join_one(). Without a join, exceptions
  /// are discarded, so catch them in the task. Afterwards, spawn() may be called again.
  auto join() noexcept {
    struct awaiter : joining {
      using joining::joining;
      bool await_ready() const noexcept { return joining::scope->is_empty(); }
      void await_resume() const {
        joining::scope->finished_ = 0;
        joining::scope->rethrow();
      }
    };
    return awaiter(*this, false);
  }

  /// Like join(), but continues as soon as one task has finished that neither join() nor join_one() has counted.
  /// co_await counts it and returns true; it returns false if no task is left and all have been counted. Throws like
  /// join(), after counting. Allocates nothing.
  auto join_one() noexcept {
    struct awaiter : joining {
      using joining::joining;
      bool await_ready() const noexcept { return joining::scope->finished_ != 0 || joining::scope->is_empty(); }
      bool await_resume() const {
        const bool one = joining::scope->finished_ != 0;
        joining::scope->finished_ -= one;
        joining::scope->rethrow();
        return one;
      }
    };
    return awaiter(*this, true);
  }

  /// Asks the tasks to end. Those that use stop_token(), for example in operation_options, notice it. Any thread may
  /// call this.
  void request_stop() noexcept { stop_.request_stop(); }
  /// For the operations of its tasks: `{.stop = token}`. request_stop() and the destructor request the stop.
  std::stop_token stop_token() const noexcept { return stop_.get_token(); }

  /// How many tasks have not finished.
  std::size_t size() const noexcept { return size_; }
  /// Whether all tasks have finished.
  bool is_empty() const noexcept { return first_ == nullptr; }

 private:
  // A spawned task, in the frame of the coroutine that awaits it.
  struct member {
    task_scope* owner;
    member* next;
    member* previous;

    virtual void start() noexcept = 0;
    virtual void destroy() noexcept = 0;

   protected:
    ~member() = default;
  };

  struct carried {
    struct promise_type final : member, private detail::posted {
      ~promise_type() {
        if (is_posted) owner->loop_->withdraw(*this);
      }

      carried get_return_object() noexcept { return {this}; }
      std::suspend_always initial_suspend() const noexcept { return {}; }
      auto final_suspend() const noexcept {
        struct awaiter {
          bool await_ready() const noexcept { return false; }
          auto await_suspend(std::coroutine_handle<promise_type> finished) const noexcept {
            return detail::continue_with(finished.promise().owner->finish(finished.promise()));
          }
          void await_resume() const noexcept {}
        };
        return awaiter{};
      }
      void return_void() const noexcept {}
      void unhandled_exception() noexcept {
        if (!owner->failure_) owner->failure_ = std::current_exception();
      }

      std::coroutine_handle<promise_type> coroutine() noexcept {
        return std::coroutine_handle<promise_type>::from_promise(*this);
      }

      void start() noexcept override {
        if (detail::running_loop == owner->loop_->number()) return coroutine().resume();
        run = [](detail::posted& node) noexcept { static_cast<promise_type&>(node).coroutine().resume(); };
        owner->loop_->post(*this);
      }

      void destroy() noexcept override {
        owner->forget(*this);
        coroutine().destroy();
      }
    };

    promise_type* promise;
  };

  // A call of spawn(), in which a task runs until it first suspends or ends.
  struct starting {
    member* task;  // null if it has ended
    starting* outer;
    bool is_scope_gone = false;
  };

  // A coroutine that waits for all tasks, or for one. It may be destroyed before.
  struct joining {
    joining(task_scope& of, bool one) noexcept : scope(&of), for_one(one) {}
    joining(const joining&) = delete;
    joining& operator=(const joining&) = delete;
    ~joining() {
      if (scope != nullptr && scope->joining_ == this) scope->joining_ = nullptr;
    }

    void await_suspend(std::coroutine_handle<> awaiting,
                       [[maybe_unused]] detail::caller from = detail::caller::here()) noexcept {
      QIO_CHECK_AT(scope->joining_ == nullptr, "two coroutines await join() or join_one() of the same task_scope",
                   from);
      waiting = awaiting;
      scope->joining_ = this;
    }

    task_scope* scope;  // null if it was destroyed
    bool for_one;
    std::coroutine_handle<> waiting;
  };

  void rethrow() {
#if defined(__cpp_exceptions)
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
#endif
  }

  static carried carry_out(task<void> work) { co_await std::move(work); }

  void forget(member& each) noexcept {
    QIO_CHECK(size_ != 0, "bug in qio: a task_scope lost count of its tasks");
    (each.previous == nullptr ? first_ : each.previous->next) = each.next;
    if (each.next != nullptr) each.next->previous = each.previous;
    --size_;
  }

  // Frees the frame, and returns what is to continue, which may destroy the scope.
  std::coroutine_handle<> finish(member& finished) noexcept {
    for (starting* each = starting_; each != nullptr; each = each->outer)
      if (each->task == &finished) each->task = nullptr;
    finished.destroy();
    ++finished_;
    if (joining_ == nullptr || !(joining_->for_one || is_empty())) return std::noop_coroutine();
    return std::exchange(joining_, nullptr)->waiting;
  }

  std::shared_ptr<detail::mailbox> loop_;
  member* first_ = nullptr;  // of those that have not finished
  std::size_t size_ = 0;
  std::size_t finished_ = 0;  // that join_one() has not counted
  joining* joining_ = nullptr;
  std::exception_ptr failure_;
  std::stop_source stop_;
  starting* starting_ = nullptr;  // the innermost
};

QIO_END_NAMESPACE
