// SPDX-License-Identifier: BSL-1.0
// What a context, its files and their operations share: an engine, and what is over, due or posted.
#pragma once

#include <qio/buffer.hpp>
#include <qio/detail/clock.hpp>
#include <qio/detail/inline_turn.hpp>
#include <qio/detail/timers.hpp>
#include <qio/engine/engine.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  loop(std::unique_ptr<Engine> engine, std::optional<aligned_buffer> memory)
      : memory_(std::move(memory)),
        engine_(std::move(engine)),
        why_not_registered_(memory_ ? detail::register_memory(*engine_, *memory_) : "not asked for") {}
  loop(const loop&) = delete;
  loop& operator=(const loop&) = delete;

  const Engine& engine() const noexcept { return *engine_; }
  std::span<std::byte> memory() noexcept { return memory_ ? std::span<std::byte>(*memory_) : std::span<std::byte>(); }
  bool closed() const noexcept { return closed_; }
  bool idle() const noexcept { return engine_->in_flight() == 0 && completed_.empty(); }

  /// Binds a file that is being opened to the engine. From any thread.
  result<void> attach(platform::native_handle handle) noexcept { return detail::attach(*engine_, handle); }

  void explain(explanation& out) const {
    engine_->explain(out);
    out.add("registered memory", why_not_registered_.empty() ? std::to_string(memory_->size()) + " bytes" : "off",
            why_not_registered_);
  }

  // --- for operations ---

  /// Completes `r` here and now, if there is a way to attempt that, and the attempt succeeds. What has been reaped and
  /// not yet been told counts as company: those who are resumed next will ask for more, and it makes one batch.
  bool try_inline(request& r) noexcept {
    return r.attempt != nullptr && r.attempt(r, inline_turn_, engine_->in_flight() + !completed_.empty());
  }
  /// Whether who waits for what is over at once may go on at once. Else it is for complete_later(): others are due.
  bool may_go_on() const noexcept { return inline_turn_.may_go_on(); }

  void submit(request& r) noexcept {
    if (!r.activity->is_linked()) [[unlikely]]
      activities_.insert(*r.activity);
    r.activity->held.insert(r);
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

  /// A file is about to be closed: ends its operations, waits until the system has let go of them, and forgets it.
  void end(file_activity& activity) noexcept {
    activity.forget();
    if (activity.in_flight != 0) cancel_all(activity);
    while (activity.in_flight != 0) engine_->wait(completed_, wait_limit::unlimited());
    if (!ended_) detail::let_go(*engine_, activity);
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
    inline_turn_.renew();
    const bool ran = run_posted();
    engine_->wait(completed_, limit(may_wait && !ran));
    expire_timers();
    return dispatch() || ran;
  }

  /// Ends everything that is in flight, waits for the system to let go of it, and tells those who waited. What they
  /// start from then on is refused.
  void close() noexcept {
    closed_ = true;
    inline_turn_.renew();  // and nothing will be spent: what is refused from now on is over at once
    activities_.for_each([&](file_activity& each) { cancel_all(each); });
    while (engine_->in_flight() != 0) engine_->wait(completed_, wait_limit::unlimited());
    while (run_posted() || dispatch()) {}
    activities_.clear();  // of files that outlive it, and may be closed by several threads
    detail::end(*engine_);
    ended_ = true;
  }

 private:
  static constexpr unsigned dispatches_a_turn = 1024;

  void cancel_all(file_activity& activity) noexcept {
    activity.held.for_each([&](request& r) { engine_->cancel(r); });
  }

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
    const auto now = engine_now();
    while (const timer* const earliest = timers_.earliest()) {
      if (earliest->when > now) return;
      auto& expired = static_cast<deadline_timer&>(const_cast<timer&>(*earliest));
      timers_.remove(expired);
      expired.expired(expired);
    }
  }

  // A simulated engine has a clock of its own.
  clock::time_point engine_now() const noexcept {
    if constexpr (requires { engine_->now(); })
      return engine_->now();
    else
      return clock::now();
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

  std::optional<aligned_buffer> memory_;  // for transfers, if it was asked for
  std::unique_ptr<Engine> engine_;
  std::string why_not_registered_;  // with the engine's system; empty: it is
  list<file_activity> activities_;  // of every file that has had an operation; they know which are held by the engine
  completed_requests completed_;
  timers timers_;
  arrivals<posted> arrivals_;
  queue<posted> posted_;  // taken from arrivals_, not yet run
  inline_turn inline_turn_;
  bool closed_ = false;  // nothing is taken any more
  bool ended_ = false;   // … nor told
};

}  // namespace qio::detail
