// SPDX-License-Identifier: BSL-1.0
// when_any: waits for the first of several tasks, and stops the others.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/mailbox.hpp>
#include <qio/task.hpp>

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <stop_token>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

QIO_BEGIN_NAMESPACE

namespace detail {

// --- passing a stop request on ---

/// When a stop of `from` is requested, requests a stop of `to`: on the loop that was running when the relay was made,
/// so that the tasks there are stopped on their own thread. If there was none, or if it has closed, on the thread that
/// requests the stop. Relays on loops may be chained to any length, as in nested calls of
/// when_any.
class stop_relay : posted {
 public:
  stop_relay(const std::stop_token& from, const std::stop_source& to) noexcept
      : to_(to),
        home_(running_loop),
        notice_(from.stop_possible() ? callback(std::in_place, from, notice{this}) : callback()) {}
  stop_relay(const stop_relay&) = delete;
  stop_relay& operator=(const stop_relay&) = delete;
  ~stop_relay() {
    // Waits for a stop that another thread is requesting at this moment; nothing is posted after it.
    notice_.reset();
    if (is_posted) mailbox::withdraw_from(home_, *this);
  }

 private:
  struct notice {
    stop_relay* self;
    void operator()() const noexcept { self->pass_on(); }
  };
  using callback = std::optional<std::stop_callback<notice>>;

  void pass_on() noexcept {
    const bool is_at_home = running_loop == home_;
    if (is_at_home && stack_between(running_from, QIO_STACK_POSITION()) <= stack_for_tasks) return request();
    run = [](posted& node) noexcept { static_cast<stop_relay&>(node).request(); };
    if (home_ == 0 || !mailbox::post_to(home_, *this)) request();
  }

  // By a copy, because what is called back may destroy the relay and the source.
  void request() const noexcept {
    std::stop_source target = to_;
    target.request_stop();
  }

  std::stop_source to_;
  loop_number home_;
  callback notice_;  // last: it may call as soon as it exists
};

// --- waiting ---

/// Starts tasks in order until one has finished, then requests a stop, and waits until all that were started have
/// finished. Has at least one task.
class race final {
 public:
  race(std::size_t count, const std::stop_source& stop) : stop_(stop) { contenders_.reserve(count); }
  race(const race&) = delete;
  race& operator=(const race&) = delete;

  void add(started work) { contenders_.emplace_back(*this, std::move(work)); }

  /// The index of the task that finished first; `none` before that.
  std::size_t first() const noexcept { return first_.load(std::memory_order_relaxed); }
  /// Throws what the first one threw.
  void rethrow() const { contenders_[first()].task.rethrow(); }

  bool await_ready() const noexcept { return false; }
  // Not inlined: see task_promise_base::start().
  QIO_NOINLINE bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
    awaiting_ = awaiting;
    left_.store(contenders_.size() + 1, std::memory_order_relaxed);
    std::size_t begun = 0;
    while (begun != contenders_.size() && first() == none) {
      contender& each = contenders_[begun++];
      if (!starting_.outlives([&] { each.task.start(each); })) return true;
    }
    // One above the number of tasks: the last to count down resumes, here by not suspending.
    const std::size_t own = 1 + contenders_.size() - begun;
    return left_.fetch_sub(own, std::memory_order_acq_rel) != own;
  }
  void await_resume() const noexcept {}

 private:
  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  struct contender final : started::listener {
    contender(race& of, started work) noexcept : listener{&race::one_finished}, all(of), task(std::move(work)) {}
    race& all;
    started task;
  };

  static std::coroutine_handle<> one_finished(started::listener& self) noexcept {
    auto& finished = static_cast<contender&>(self);
    race& all = finished.all;
    std::size_t expected = none;
    const auto own = static_cast<std::size_t>(&finished - all.contenders_.data());
    if (all.first_.compare_exchange_strong(expected, own, std::memory_order_relaxed) && !all.outlives_stop())
      return std::noop_coroutine();
    if (all.left_.fetch_sub(1, std::memory_order_acq_rel) != 1) return std::noop_coroutine();
    return all.awaiting_;
  }

  // False if a callback of the stop destroyed this object. The copy of the source survives that.
  bool outlives_stop() noexcept {
    std::stop_source stop = stop_;
    return stopping_.outlives([&stop] { stop.request_stop(); });
  }

  const std::stop_source& stop_;
  std::vector<contender> contenders_;
  std::coroutine_handle<> awaiting_;
  // Atomic for tasks that were started on no loop, which may finish on any thread.
  std::atomic<std::size_t> first_ = none;
  std::atomic<std::size_t> left_ = 0;
  destruction_watch starting_;
  destruction_watch stopping_;
};

template <class Task>
struct value_of_task;
template <class T>
struct value_of_task<task<T>> {
  using type = T;
};
template <class Tasks>
struct value_of_tasks;
template <class T>
struct value_of_tasks<std::vector<task<T>>> {
  using type = T;
};

/// The result of calling a function with the stop token of when_any.
template <class Function>
using made_by = std::invoke_result_t<Function&, const std::stop_token&>;

template <class Function>
concept makes_task = requires { typename value_of_task<made_by<Function>>::type; };
template <class Function>
concept makes_tasks = requires { typename value_of_tasks<made_by<Function>>::type; };

template <class Function>
using value_made_by = typename value_of_task<made_by<Function>>::type;
template <class Function>
using values_made_by = typename value_of_tasks<made_by<Function>>::type;

}  // namespace detail

/// Which one of a vector of tasks finished first, and its value: unit for a task<void>.
template <class T>
struct first_finished {
  std::size_t index;      ///< of the task that finished first, in the vector
  detail::kept<T> value;  ///< what it returned
};

/// Waits until the first of several tasks has finished, requests a stop of the others, and waits until these have
/// finished, too. No task outlives the call.
///
///     auto answer = co_await qio::when_any(
///         [&](std::stop_token stop) { return read_from(near, stop); },
///         [&](std::stop_token stop) { return read_from(far, stop); });
///     answer.index();  // which one was first; std::get<0>(answer) is the value if it was the first function's
///
/// Each argument is a function that takes a std::stop_token and returns a task. It passes the token to what the task
/// waits for: operation_options, context.sleep_for(), another when_any. A task that ignores its token runs to its end,
/// and when_any waits for it. (Functions instead of tasks, because a task needs its token when it is made. If tasks
/// were arguments, a task made with another token, or with none, would look right and keep when_any waiting.)
///
/// The result is a std::variant with a member for each function, in order, and unit for a task<void>. Its index() is
/// that of the function whose task finished first, whatever the task did: when_any rethrows an exception of that task,
/// once all have finished, and a result<T> that holds an error is a value. Values and exceptions of the other tasks are
/// discarded. A task that finishes in spite of the stop has done its work, and its value is discarded, too.
///
/// All functions are called first, in order; if one throws, no task starts. Then the tasks start in order, until one
/// has finished: the tasks after one that finishes without waiting do not start. The functions are kept until all tasks
/// have finished, so a lambda with captures may be a coroutine itself.
///
/// With a stop token as the first argument, a stop requested there, from any thread, is passed on to all tasks; the
/// result is still that of the first to finish. A task that calls when_any itself should pass its token there.
///
/// Destroying the task of when_any destroys its tasks, without requesting a stop, as with any task that is awaited. See
/// task for threads and depth.
///
/// Allocates its frame, the state of a stop source, a list of its tasks, and a frame for each, besides those of the
/// tasks themselves.
template <class... Function>
  requires(sizeof...(Function) != 0 && (detail::makes_task<Function> && ...))
task<std::variant<detail::kept<detail::value_made_by<Function>>...>> when_any(std::stop_token stop,
                                                                              Function... functions) {
  const std::stop_source own;
  const std::stop_token token = own.get_token();
  std::tuple<std::optional<detail::kept<detail::value_made_by<Function>>>...> values;
  detail::race all(sizeof...(Function), own);
  std::apply(
      [&](auto&... value) {
        (all.add(detail::run_into<detail::value_made_by<Function>>(value, functions(token))), ...);
      },
      values);
  const detail::stop_relay relay(stop, own);
  co_await all;
  all.rethrow();
  std::optional<std::variant<detail::kept<detail::value_made_by<Function>>...>> first;
  const auto take = [&]<std::size_t Index>(std::integral_constant<std::size_t, Index>) {
    if (Index == all.first()) first.emplace(std::in_place_index<Index>, std::move(*std::get<Index>(values)));
  };
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (take(std::integral_constant<std::size_t, Index>()), ...);
  }(std::index_sequence_for<Function...>());
  co_return std::move(*first);
}
/// The same without a stop token to pass on.
template <class... Function>
  requires(sizeof...(Function) != 0 && (detail::makes_task<Function> && ...))
task<std::variant<detail::kept<detail::value_made_by<Function>>...>> when_any(Function... functions) {
  return when_any(std::stop_token(), std::move(functions)...);
}

/// Like when_any() of single functions, for a number of tasks known at run time, at least one: `function(stop_token)`
/// returns a std::vector<task<T>>. Allocates an array for the values, too.
///
///     const auto [index, value] = co_await qio::when_any([&](std::stop_token stop) {
///       std::vector<qio::task<int>> tasks;
///       for (auto& each : replicas) tasks.push_back(ask(each, stop));
///       return tasks;
///     });
template <class Function>
  requires detail::makes_tasks<Function>
task<first_finished<detail::values_made_by<Function>>> when_any(std::stop_token stop, Function function) {
  using value_type = detail::values_made_by<Function>;
  const std::stop_source own;
  const std::stop_token token = own.get_token();
  std::vector<task<value_type>> tasks = function(token);
  QIO_CHECK_AT(!tasks.empty(), "when_any was given a function that made no task: none can finish first",
               detail::caller());
  std::vector<std::optional<detail::kept<value_type>>> values(tasks.size());
  detail::race all(tasks.size(), own);
  for (std::size_t index = 0; index < tasks.size(); ++index)
    all.add(detail::run_into<value_type>(values[index], std::move(tasks[index])));
  const detail::stop_relay relay(stop, own);
  co_await all;
  all.rethrow();
  co_return first_finished<value_type>{all.first(), std::move(*values[all.first()])};
}
/// The same without a stop token to pass on.
template <class Function>
  requires detail::makes_tasks<Function>
task<first_finished<detail::values_made_by<Function>>> when_any(Function function) {
  return when_any(std::stop_token(), std::move(function));
}

/// Tasks that exist already cannot receive the stop token: pass functions that make them.
template <class... T>
void when_any(task<T>...) = delete;
template <class T>
void when_any(std::vector<task<T>>) = delete;

QIO_END_NAMESPACE
