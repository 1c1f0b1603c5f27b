// SPDX-License-Identifier: BSL-1.0
// Waiting for a ring, asleep or awake, as the policy decides.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/engine/uring/entry.hpp>
#include <qio/engine/uring/gate.hpp>
#include <qio/engine/uring/places.hpp>
#include <qio/engine/uring/waiting.hpp>
#include <qio/request/request.hpp>
#include <qio/system/linux/ring.hpp>
#include <qio/system/platform.hpp>

#include <cstddef>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Waits awake only for what needs no CPU to complete: while the ring holds a request that a kernel thread completes,
/// and while it holds none at all, it sleeps. At most one nap is in the ring.
class waiter {
 public:
  explicit waiter(wait_policy policy) noexcept : may_be_awake_(policy != wait_policy::sleep), waiting_(policy) {}

  bool may_be_awake() const noexcept { return may_be_awake_; }
  wait_policy policy() const noexcept { return waiting_.policy(); }
  const wait_statistics& statistics() const noexcept { return waiting_.statistics(); }

  // Only where it may be awake: see may_be_awake().
  void handed_over(const request& r) noexcept {
    latest_ = r.op;
    slow_ += is_slow(r);
  }
  void completed(const request& r) noexcept {
    QIO_CHECK(slow_ != 0 || !is_slow(r), "a request became slow while it was in the ring");
    slow_ -= is_slow(r);
  }

  void sleep(ring& in, gate& through, wait_limit limit) noexcept {
    waiting_.slept();
    through.wait(in, limit);
  }

  /// Waits by the policy. `reap()` takes the available completions, and returns whether anything other than the end of
  /// a nap arrived.
  template <class Reap>
  void wait(ring& in, gate& through, const places& room, wait_limit limit, Reap&& reap) noexcept {
    QIO_CHECK(slow_ <= room.taken(), "more requests are slow than are in the ring");
    const bool reads = latest_ == opcode::read;
    const bool is_quick = room.taken() != 0 && slow_ == 0;
    const waiting::plan plan = is_quick ? waiting_.next(reads) : waiting::plan();
    const auto start = clock::now();
    const bool naps = plan.nap.count() != 0 && start + plan.nap < limit.time;
    if (plan.is_asleep()) {
      sleep(in, through, limit);
    } else {
      const bool came = naps && nap(in, through, plan.nap) && reap();
      if (!came && !watch(in, through, lesser_of(start + plan.awake, limit.time))) through.wait(in, limit);
    }
    reap();
    if (is_quick) waiting_.learn(reads, clock::now() - start, naps);
  }

  /// The end of a nap has come out of the ring.
  void nap_ended() noexcept {
    QIO_CHECK(is_napping_, "the kernel completed a nap that was not in the ring");
    is_napping_ = false;
  }

 private:
  /// Sleeps in the kernel until `time` has passed or something completes. False if it cannot. Uses an entry of its own,
  /// because timeouts of io_uring_enter may be late by the thread's timer slack, 50 us.
  bool nap(ring& in, gate& through, std::chrono::nanoseconds time) noexcept {
    io_uring_sqe* const entry = is_napping_ ? nullptr : in.next_entry();
    if (entry == nullptr) return false;
    nap_time_ = {0, time.count()};
    prepare_nap(*entry, nap_time_);
    is_napping_ = true;
    waiting_.napped();
    through.wait(in, wait_limit::unlimited());
    return true;
  }

  /// Hands over what was submitted and watches the completion queue. False if nothing has come by `end`.
  bool watch(ring& in, gate& through, waiting::clock::time_point end) noexcept {
    constexpr int looks_per_clock_reading = 32;
    if (in.pending() != 0) through.pass(in);
    do {
      for (int look = 0; look < looks_per_clock_reading; ++look) {
        if (in.has_completions()) {
          waiting_.was_awake();
          return true;
        }
        if (in.has_deferred())
          through.pass(in);
        else
          platform::relax();
      }
    } while (waiting::clock::now() < end);
    waiting_.was_awake_in_vain();
    return false;
  }

  // Whether a kernel thread completes it, which needs a CPU, perhaps the one that a wait awake would hold.
  static bool is_slow(const request& r) noexcept { return r.op == opcode::sync || r.is_durable_write(); }

  bool may_be_awake_;
  bool is_napping_ = false;
  opcode latest_ = opcode::read;  // handed over; likely the kind of the next completion
  std::size_t slow_ = 0;          // requests in the ring that must be waited for asleep
  __kernel_timespec nap_time_{};  // the kernel reads it when it takes the entry, which may be later than nap()
  waiting waiting_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
