// SPDX-License-Identifier: BSL-1.0
// The engine concept: what carries out requests, and what all engines do with them. Each has a static_assert of it.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/base/intrusive.hpp>
#include <qio/configuration.hpp>
#include <qio/explanation.hpp>
#include <qio/options.hpp>
#include <qio/request/probes.hpp>
#include <qio/request/request.hpp>
#include <qio/result.hpp>
#include <qio/statistics.hpp>
#include <qio/system/operating_system.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The largest polled transfer in bytes; it must have one buffer. Linux 6.1 restarts a polled transfer from its
/// beginning if it needs more of the device's requests than are free (large reads never ended there). A transfer of
/// this size needs one.
inline constexpr std::size_t most_polled_bytes = 64 * 1024;

/// Which transfers of a file can be polled.
struct polling_support {
  bool reads = false;
  bool writes = false;
  std::string reason;  ///< why not all of them
};

/// How long an engine may wait: not at all, until a point in time, or without a limit.
struct wait_limit {
  using time_point = std::chrono::steady_clock::time_point;

  static constexpr wait_limit none() noexcept { return {(time_point::min)()}; }
  static constexpr wait_limit until(time_point time) noexcept { return {time}; }
  static constexpr wait_limit unlimited() noexcept { return {(time_point::max)()}; }

  constexpr bool may_wait() const noexcept { return time != (time_point::min)(); }
  constexpr bool is_unlimited() const noexcept { return time == (time_point::max)(); }

  time_point time;
};

namespace detail {

/// Microseconds since `r` was submitted, whose loop is observed. They wrap around, as request::queued_for does.
inline std::uint32_t age_of(const request& r, clock::time_point now) noexcept {
  return static_cast<std::uint32_t>((now.time_since_epoch() - clock::duration(r.started_at)) /
                                    std::chrono::microseconds(1));
}

/// How long what was due had to wait for the thread that takes the turns of a loop. Only that thread uses it, but for
/// note_hand_over() and note_queued().
class turn_watch {
 public:
  turn_watch() {
    slow_.path.reserve(longest_path);
    totals_.path.reserve(longest_path);
  }

  /// The thread comes from the program. What it finds may have become due a moment ago.
  void begin_session() noexcept { began_ = {}; }

  /// From now on, something may become due in this turn.
  void begin_at(clock::time_point now) noexcept { began_ = now; }
  /// The same, if nothing could until now.
  void begin_late() noexcept {
    if (began_ == clock::time_point()) began_ = clock::now();
  }

  /// Something had completed before the thread began to wait.
  void found_due() noexcept { due_ |= completion; }
  /// Something that another thread has posted had waited for that long.
  QIO_COLD void found_posted(clock::duration waited) noexcept {
    posted_waited_ = waited;
    due_ |= post;
  }

  /// The thread has waited, if it had to, and goes on, with nothing that could become due meanwhile. False if something
  /// was due: then begin_turn() counts it.
  bool begin_turn_alone() noexcept {
    if (due_ != 0) return false;
    began_ = {};
    slow_.took = {};
    return true;
  }

  /// The same after the observer has heard of what the engine has completed.
  bool begin_observed_turn_alone() noexcept {
    due_ &= ~observation;
    const bool is_alone = begin_turn_alone();
    due_ |= observation;
    return is_alone;
  }

  /// The same with something. `timer` is when the earliest one is due.
  void begin_turn(clock::time_point now, clock::time_point timer) noexcept {
    const clock::time_point began = std::exchange(began_, now);
    if ((due_ & ~observation) == 0 && timer > now) [[likely]] {
      slow_.took = {};
      return;
    }
    clock::duration waited = std::exchange(posted_waited_, clock::duration::zero());
    if (now - timer > waited) waited = now - timer;
    if ((due_ & completion) != 0 && began != clock::time_point() && now - began > waited) waited = now - began;
    due_ &= observation;
    const auto microseconds = static_cast<std::uint64_t>(waited / std::chrono::microseconds(1));
    ++totals_.late[static_cast<std::size_t>(std::bit_width(microseconds | 1)) - 1];
    if (waited > totals_.longest) [[unlikely]] {
      totals_.longest = waited;
      const bool is_slow = slow_.took >= waited / 2;
      totals_.cause = is_slow ? slow_.cause : stall_cause::program;
      if (is_slow)
        totals_.path = slow_.path;  // which fits
      else
        totals_.path.clear();
    }
    slow_.took = {};
  }

  /// Since the last turn began, the thread has spent `took` on one call for `file`.
  QIO_COLD void note_slow(stall_cause cause, const std::string& path, clock::duration took) noexcept {
    if (took <= slow_.took) return;
    slow_.took = took;
    slow_.cause = cause;
    slow_.path.assign(path, path.size() - lesser_of(path.size(), longest_path), std::string::npos);
  }

  const stall_statistics& totals() const noexcept { return totals_; }

  /// For a loop whose operations are observed: begin_turn_alone() is always false.
  void begin_observing() noexcept { is_observing_ = true, due_ |= observation; }
  bool is_observing() const noexcept { return is_observing_; }

  /// `r` leaves a queue of its engine. Called by the thread that takes it from there, as note_queued() by the one that
  /// puts it there, unless that is when it is submitted.
  void note_hand_over(request& r) const noexcept {
    if (is_observing_) [[unlikely]]
      r.queued_for += age_of(r, clock::now());
  }
  /// `r`, which has been with the system, enters a queue of its engine.
  void note_queued(request& r) const noexcept {
    if (is_observing_) [[unlikely]]
      r.queued_for -= age_of(r, clock::now());
  }

 private:
  static constexpr std::size_t longest_path = 255;
  static constexpr unsigned completion = 1, post = 2, observation = 4;

  clock::time_point began_{};  // the turn; not set in the first one of a session
  unsigned due_ = 0;
  bool is_observing_ = false;
  clock::duration posted_waited_{};
  struct {
    clock::duration took{};
    stall_cause cause = stall_cause::none;
    std::string path;
  } slow_;  // the slowest call since then
  stall_statistics totals_;
};

/// Submitting operations of `file` to the system has taken long. True if the thread, which had switched so often
/// `before`, waited for something, and not only for a CPU: then the file's statistics count it.
QIO_COLD inline bool note_slow_submission(turn_watch& watch, file_activity& file,
                                          const platform::thread_switches& before, clock::duration took) noexcept {
  watch.note_slow(stall_cause::submitting, file.path, took);
  if (platform::switches_of_this_thread().voluntary == before.voluntary) return false;
  ++file.statistics.blocked_submissions;
  return true;
}

/// Whether `Member` is a pointer to a member function of exactly the type `Function`: parameters, result, const and
/// noexcept.
template <class Function, class Member>
inline constexpr bool points_to = false;
template <class Function, class Class>
inline constexpr bool points_to<Function, Function Class::*> = true;

template <class Member, class Function>
concept hook = points_to<Function, Member>;

/// Hooks that do nothing. An engine that does not need one derives privately from this and writes, for example, `using
/// no_hook::end;`. Without that line, the type lacks the hook and is not an engine.
struct no_hook {
  result<void> attach(platform::native_handle) noexcept { return success(); }
  std::string register_memory(std::span<std::byte>) { return "only a context over io_uring registers memory"; }
  polling_support find_polling(platform::native_handle, const alignment&) const {
    return {false, false, "only a context over io_uring polls"};
  }
  void observe(list<file_activity>&, turn_watch&) noexcept {}
  void begin() noexcept {}
  bool serve_at_once(request&) noexcept { return false; }
  bool gathers() const noexcept { return false; }
  void release(file_activity&) noexcept {}
  void end() noexcept {}
  wait_statistics waits() const noexcept { return {}; }
  result<platform::native_handle> wake_handle() noexcept { return error(errc::no_wake_handle); }
  bool prepare_to_wait(completed_requests&) noexcept { return false; }
};

}  // namespace detail

/// An engine carries out requests.
///
/// One thread at a time calls it, the context's thread; exceptions are marked "any thread". An engine never calls back:
/// completed requests appear in the list that wait() fills, and the context resumes the coroutines that await them.
/// After create(), the members that the concept requires to be noexcept do not allocate.
///
/// The concept requires every hook with exactly this type. None is optional, and none has a default: an engine that
/// does not need one uses that of detail::no_hook.
///
/// - `create(options)`: returns an engine, or the error. The engine never moves.
/// - `system`, `files()`: what opens, reads and closes the files of this engine (detail::operating_system, or a type
///   with the same members). Any thread.
/// - `now()`: the current time of the clock that deadlines use.
/// - `attach(handle)`: binds a file that is being opened to the engine. Any thread.
/// - `find_polling(handle, alignment)`: which transfers of a direct file the engine polls, if the file's activity asks
///   for it. Any thread.
/// - `register_memory(memory)`: once, before anything is submitted; the memory outlives the engine. Returns an empty
///   string, or why the system refuses it.
/// - `observe(activities, watch)`: once, before anything is submitted. The list has the activity of every file with
///   requests in flight, and outlives them. For an engine that may lose access to its system, and must then fail the
///   requests that the system had taken. wait() informs `watch` if a request had completed before it began to wait, if
///   the engine can find that out at no cost.
/// - `begin()`: once, by the thread that runs the context from then on, before the first turn of its loop. Before that,
///   wait() is called only if a request has been canceled, by a thread that destroys an operation or closes a file; an
///   engine that binds to a thread must not bind to that one.
/// - `serve_at_once(r)`: before the loop attempts `r`, which nobody holds. True if the engine has carried it out.
/// - `submit(r)` takes `r`, which no engine holds. It cannot fail: errors are in `r.failure` of the completed request.
///   Each submitted request completes exactly once.
/// - `gathers()`: whether wait() hands several submitted requests to the system in one call. Then it serves several
///   reads of cached data faster than one system call for each.
/// - `submit_all(first)` is submit() of several transfers of one file, linked by `next`, in one direction and with the
///   same flags.
/// - `cancel(r)` asks for `r` to end early. `r` is submitted and not completed. No such request is lost: `r` completes
///   with its real result, ended early or not, which includes the bytes that were moved.
/// - `wait(completed, limit)` appends completed requests to `completed`. It hands submitted requests to the system, and
///   waits until a request completes, the limit passes, or wake() is called. It may return early with nothing.
/// - `in_flight()`: requests that are submitted and not completed.
/// - `wake()`: the current or the next wait() that waits returns soon. Any thread.
/// - `wake_handle()`: a handle for which another event loop can wait: from each prepare_to_wait() that returns true, it
///   is readable (signaled, on Windows) once wait() has something to do. Creates it the first time.
/// - `prepare_to_wait(completed)`, after wake_handle(): resets the handle, and does what wait() does without waiting.
///   True if nothing is left for wait() to do.
/// - `release(activity)`: the file is about to be closed, and none of its requests is in flight. The engine releases
///   what it holds for the file.
/// - `end()`: the context has ended. Nothing is submitted, canceled or waited for afterwards; wake() may still be
///   called. Any thread, not necessarily the one that ran the context. Files that outlive the context may keep the
///   engine alive.
/// - `waits()`: how often it waited, and how.
/// - `explain(out)` adds the facts about this engine, "engine" first.
/// - destruction: with nothing in flight (the context cancels and drains first).
template <class Engine>
concept engine =
    std::destructible<Engine> && !std::movable<Engine> &&
    std::same_as<decltype(&Engine::create), result<std::unique_ptr<Engine>> (*)(const context_options&)> &&
    detail::hook<decltype(&Engine::files), typename Engine::system() const noexcept> &&
    detail::hook<decltype(&Engine::now), detail::clock::time_point() const noexcept> &&
    detail::hook<decltype(&Engine::attach), result<void>(platform::native_handle) noexcept> &&
    detail::hook<decltype(&Engine::find_polling), polling_support(platform::native_handle, const alignment&) const> &&
    detail::hook<decltype(&Engine::register_memory), std::string(std::span<std::byte>)> &&
    detail::hook<decltype(&Engine::observe), void(detail::list<file_activity>&, detail::turn_watch&) noexcept> &&
    detail::hook<decltype(&Engine::begin), void() noexcept> &&
    detail::hook<decltype(&Engine::serve_at_once), bool(request&) noexcept> &&
    detail::hook<decltype(&Engine::submit), void(request&) noexcept> &&
    detail::hook<decltype(&Engine::gathers), bool() const noexcept> &&
    detail::hook<decltype(&Engine::submit_all), void(request*) noexcept> &&
    detail::hook<decltype(&Engine::cancel), void(request&) noexcept> &&
    detail::hook<decltype(&Engine::wait), void(completed_requests&, wait_limit) noexcept> &&
    detail::hook<decltype(&Engine::in_flight), std::size_t() const noexcept> &&
    detail::hook<decltype(&Engine::wake), void() noexcept> &&
    detail::hook<decltype(&Engine::release), void(file_activity&) noexcept> &&
    detail::hook<decltype(&Engine::end), void() noexcept> &&
    detail::hook<decltype(&Engine::waits), wait_statistics() const noexcept> &&
    detail::hook<decltype(&Engine::wake_handle), result<platform::native_handle>() noexcept> &&
    detail::hook<decltype(&Engine::prepare_to_wait), bool(completed_requests&) noexcept> &&
    detail::hook<decltype(&Engine::explain), void(explanation&) const>;

namespace detail {

// --- what every engine does with a request when it takes it, and when it completes ---

// The success of a sync is held back while others of the same file are in flight, since one of them may have its error.

/// Takes the request from its file's list to the completed ones.
QIO_PROBED inline void hand_back(request& r, completed_requests& completed) noexcept {
  r.submitted.set(false);
  r.unlink();
  --r.activity->in_flight;
  QIO_PROBE_COMPLETE(r, r.place == uring_place::workers ? 2 : 1);
  completed.push(r);
}

/// An engine takes `r`. Not inlined, for the sake of reads, which need not call it.
QIO_NOINLINE inline void begin_sync(request& r) noexcept {
  if (!r.overlaps_syncs()) return;
  r.sync_state = {0, r.activity->epochs.begin(), false, false};
}

/// The failure of one of these requests may be that of all which it overlaps.
QIO_COLD inline void fail_what_overlaps(file_activity& file) noexcept {
  file.held.for_each([](request& each) {
    if (each.overlaps_syncs()) each.sync_state.has_overlapped_failure = true;
  });
}

/// Whether data may be lost that `r` should have made durable.
QIO_COLD inline bool loses_data(const request& r) noexcept {
  return r.op == opcode::sync ? sync_failure::loses_data_in_sync(r.failure)
                              : sync_failure::loses_data_in_write(r.failure);
}

/// `r` has succeeded, and so has everything that was in flight when it ended, or it has failed.
QIO_COLD inline void judge_sync(request& r) noexcept {
  const sync_failure& known = r.activity->sync_failure;
  if (r.op == opcode::sync && known.exists())
    r.failure = r.activity->of_sync(known.get());
  else if (r.op == opcode::write && r.sync_state.has_overlapped_failure)
    r.failure = r.activity->of_transfer(known.get().after(r.io.transferred()), r.op);
}

/// `r` has ended. Hands it back, or later if it overlaps others, and then those that it held up.
QIO_NOINLINE inline void end_sync(request& r, completed_requests& completed) noexcept {
  if (!r.overlaps_syncs()) return hand_back(r, completed);
  file_activity& file = *r.activity;
  file.epochs.end(r.sync_state.epoch);
  if (!r.failed()) {
    r.sync_state.end_of_all = file.epochs.end_of_all();
    // One that is to end early does not wait.
    if (!file.epochs.has_passed(r.sync_state.end_of_all) && r.cancel_requested) r.fail_as_canceled();
  } else if (loses_data(r)) {
    if (r.op == opcode::sync) r.failure = file.of_sync(r.failure);
    fail_what_overlaps(file);
  }
  if (r.failed()) {
    hand_back(r, completed);
  } else {
    r.sync_state.is_held_back = true;
    file.held_back.push(r);
  }
  while (request* const first = file.held_back.first()) {
    if (!file.epochs.has_passed(first->sync_state.end_of_all)) return;
    file.held_back.pop();
    first->sync_state.is_held_back = false;
    judge_sync(*first);
    hand_back(*first, completed);
  }
}

/// `r` is canceled. True if that ends it: it was held back.
inline bool give_up_waiting(request& r, completed_requests& completed) noexcept {
  if (!r.is_held_back()) return false;
  r.activity->held_back.remove(r);
  r.sync_state.is_held_back = false;
  r.fail_as_canceled();
  hand_back(r, completed);
  return true;
}

/// Every engine calls this when it takes a request ...
QIO_PROBED inline void take_over(request& r) noexcept {
  QIO_CHECK(r.activity != nullptr && r.is_held(),
            "a request was submitted that is not in the list of its file's requests");
  QIO_CHECK(!r.submitted.is_set(), "a request was submitted twice");
  QIO_CHECK(r.op == opcode::sync || r.op == opcode::call || r.io.transferred() < r.io.total(),
            "a transfer was submitted that has nothing left to move");
  r.submitted.set(true);
  ++r.activity->in_flight;
  QIO_PROBE_START(r);
  if (r.op != opcode::read) [[unlikely]]
    begin_sync(r);
}

/// For engines that have no faster way to submit_all().
template <class Engine>
QIO_NOINLINE void submit_each(Engine& to, request* first) noexcept {
  while (first != nullptr) {
    request& r = *first;
    first = r.next;  // which the engine may use from then on
    to.submit(r);
  }
}

/// ... and this when the request completes.
QIO_PROBED inline void complete(request& r, completed_requests& completed) noexcept {
  QIO_CHECK(r.is_held() && r.activity->in_flight != 0, "a request completed that is not in flight");
  if (r.op != opcode::read) [[unlikely]]
    return end_sync(r, completed);
  hand_back(r, completed);
}

/// The same of one that does not wait for those that it overlaps: for an engine that knows when it is to end.
inline void complete_alone(request& r, completed_requests& completed) noexcept {
  if (r.overlaps_syncs()) r.activity->epochs.end(r.sync_state.epoch);
  hand_back(r, completed);
}

}  // namespace detail
QIO_END_NAMESPACE
