// SPDX-License-Identifier: BSL-1.0
// What a context, its files and their operations share: an engine, and what is over, due or posted.
#pragma once

#include <qio/detail/timers.hpp>
#include <qio/engine/engine.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <utility>

namespace qio::detail {

/// Handed in from any thread, to be run by the loop's. Lives in whoever posts it, until it has run.
struct posted {
  posted* next = nullptr;
  posted* previous = nullptr;
  void (*run)(posted&) noexcept = nullptr;
};

/// A deadline of an operation, and what to do when it passes.
struct deadline_timer : timer {
  void (*expired)(deadline_timer&) noexcept = nullptr;
};

template <engine Engine>
class loop {
 public:
  explicit loop(std::unique_ptr<Engine> engine) noexcept : engine_(std::move(engine)) {}
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  const Engine& engine() const noexcept { return *engine_; }
  bool closed() const noexcept { return closed_; }
  bool idle() const noexcept { return engine_->in_flight() == 0 && completed_.empty(); }

  // --- for operations ---

  /// Completes `r` here and now if that needs no waiting. Attempts are made only while nothing is in flight: with
  /// company a ring serves more, in one call. And only so many in a row, so that what else is due gets its turn.
  bool try_inline(request& r) noexcept {
    if (inline_budget_ == 0 || engine_->in_flight() != 0 || !detail::try_inline(r)) return false;
    --inline_budget_;
    return true;
  }

  void submit(request& r) noexcept {
    r.cancel_requested.store(false, std::memory_order_relaxed);
    held_.insert(r);
    engine_->submit(r);
  }

  /// `r` is over already; its completion is told by the loop, like any other. When the loop has ended, nobody would
  /// tell it any more: then at once.
  void complete_later(request& r) noexcept {
    if (ended_) return r.completed(r);
    completed_.push(r);
  }

  void cancel(request& r) noexcept {
    if (r.is_held()) engine_->cancel(r);
  }

  /// `r` is about to be destroyed: ends it, waits until the system has let go of its memory, and forgets it.
  void abandon(request& r) noexcept {
    cancel(r);
    while (r.is_held()) engine_->wait(completed_, wait_limit::unlimited());
    completed_.remove(r);
  }

  /// A file is about to be closed: ends its operations, and waits until the system has let go of them.
  void end(const file_activity& activity) noexcept {
    if (activity.in_flight == 0) return;
    held_.for_each([&](request& r) {
      if (r.activity == &activity) engine_->cancel(r);
    });
    while (activity.in_flight != 0) engine_->wait(completed_, wait_limit::unlimited());
  }

  void arm(deadline_timer& timer) noexcept { timers_.insert(timer); }
  void disarm(deadline_timer& timer) noexcept { timers_.remove(timer); }

  /// From any thread. The caller keeps the loop alive during the call.
  void post(posted& node) noexcept {
    if (arrivals_.push(node)) engine_->wake();
  }

  /// Takes back what was posted and has not run.
  void withdraw(posted& node) noexcept {
    arrivals_.take(posted_);
    posted_.remove(node);
  }

  // --- for the context ---

  /// One turn: runs what was posted, reaps what is over, expires what is late, and resumes who waited. Waits for
  /// something to do if it may. True if it resumed anybody.
  bool turn(bool may_wait) noexcept {
    inline_budget_ = inline_completions_a_turn;
    const bool ran = run_posted();
    engine_->wait(completed_, limit(may_wait && !ran));
    expire_timers();
    return dispatch() || ran;
  }

  /// Ends everything that is in flight, waits for the system to let go of it, and tells those who waited. What they
  /// start from then on is refused.
  void close() noexcept {
    closed_ = true;
    held_.for_each([&](request& r) { engine_->cancel(r); });
    while (engine_->in_flight() != 0) engine_->wait(completed_, wait_limit::unlimited());
    while (run_posted() || dispatch()) {}
    ended_ = true;
  }

 private:
  // Enough to make a system call for the others cheap, few enough (at 1 µs each) to keep them from waiting.
  static constexpr unsigned inline_completions_a_turn = 64;
  static constexpr unsigned dispatches_a_turn = 1024;

  wait_limit limit(bool may_wait) const noexcept {
    if (!may_wait || !completed_.empty()) return wait_limit::none();
    return timers_.empty() ? wait_limit::unlimited() : wait_limit::until(timers_.earliest()->when);
  }

  bool run_posted() noexcept {
    if (!arrivals_.empty()) arrivals_.take(posted_);
    if (posted_.empty()) return false;
    while (posted* const node = posted_.pop()) node->run(*node);
    return true;
  }

  void expire_timers() noexcept {
    if (timers_.empty()) return;
    const auto now = std::chrono::steady_clock::now();
    while (const timer* const earliest = timers_.earliest()) {
      if (earliest->when > now) return;
      auto& expired = static_cast<deadline_timer&>(const_cast<timer&>(*earliest));
      timers_.remove(expired);
      expired.expired(expired);
    }
  }

  // Everything has been reaped before anybody is resumed, so that what they start meets free places in the queues.
  bool dispatch() noexcept {
    for (unsigned count = 0; count < dispatches_a_turn; ++count) {
      request* const r = completed_.pop();
      if (r == nullptr) return count != 0;
      r->completed(*r);
    }
    return true;
  }

  std::unique_ptr<Engine> engine_;
  list<request> held_;  // by the engine
  completed_requests completed_;
  timers timers_;
  arrivals<posted> arrivals_;
  queue<posted> posted_;  // taken from arrivals_, not yet run
  unsigned inline_budget_ = inline_completions_a_turn;
  bool closed_ = false;  // nothing is taken any more
  bool ended_ = false;   // … nor told
};

}  // namespace qio::detail
