// SPDX-License-Identifier: BSL-1.0
// How to wait for a device: asleep, or awake, and for how long. Knows nothing of any engine.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/detail/clock.hpp>
#include <qio/engine/engine.hpp>
#include <qio/statistics.hpp>

#include <cstdint>

namespace qio::detail {

/// Decides for one thread, and learns from how its waits went.
///
/// Who waits awake holds a processor that the completion itself may need: some of it runs in a kernel thread bound to
/// that processor (the end of a write to blocks that had never been written, a softirq on a busy machine), and then
/// comes only with the scheduler's next tick. Hence each wait awake is bounded, and one that was in vain is followed by
/// waits asleep: one, then two, four …, up to 64, until one succeeds.
class waiting {
 public:
  using clock = std::chrono::steady_clock;
  using duration = std::chrono::nanoseconds;

  /// What to do first; after that, sleep.
  struct plan {
    duration nap{};    ///< asleep for so long; 0: not at all
    duration awake{};  ///< then awake, until so long after the beginning; 0: not at all

    bool is_asleep() const noexcept { return awake.count() == 0; }
  };

  explicit waiting(wait_policy policy) noexcept : policy_(policy) {}

  wait_policy policy() const noexcept { return policy_; }
  const wait_statistics& statistics() const noexcept { return statistics_; }

  /// For a wait whose end is a read (or else a write).
  plan next(bool reads) noexcept {
    if (asleep_left_ != 0) {
      --asleep_left_;
      return {};
    }
    if (policy_ == wait_policy::spin) return {duration(0), longest_awake};
    const duration expected = expected_[reads];
    if (expected > longest_worth) return {};
    return {expected < shortest_nap_worth ? duration(0) : expected / 3, lesser_of(4 * expected, longest_awake)};
  }

  void slept() noexcept { ++statistics_.asleep; }
  void napped() noexcept { ++statistics_.naps; }

  void was_awake() noexcept {
    ++statistics_.awake;
    penalty_ = 1;
  }
  void was_awake_in_vain() noexcept {
    ++statistics_.awake_in_vain;
    asleep_left_ = penalty_;
    penalty_ = lesser_of(2 * penalty_, most_asleep);
  }

  /// The wait took so long, however it was done: an average in which the latest counts for an eighth.
  void learn(bool reads, duration waited) noexcept {
    duration& expected = expected_[reads];
    expected += (lesser_of(waited, 8 * longest_worth) - expected) / 8;
  }

 private:
  // Beyond that, what a wait awake saves (some 10 µs of falling asleep and waking up) is less than a tenth.
  static constexpr duration longest_worth = std::chrono::microseconds(100);
  static constexpr duration longest_awake = 2 * longest_worth;
  // A timer's wake-up costs some 10 µs: a shorter wait would be over before it.
  static constexpr duration shortest_nap_worth = std::chrono::microseconds(20);
  static constexpr unsigned most_asleep = 64;

  wait_policy policy_;
  unsigned asleep_left_ = 0;  // waits to be asleep
  unsigned penalty_ = 1;      // … after the next one that is in vain
  duration expected_[2] = {shortest_nap_worth, shortest_nap_worth};
  wait_statistics statistics_;
};

}  // namespace qio::detail
