// SPDX-License-Identifier: BSL-1.0
// Decides how to wait for a device: asleep or awake, and for how long. Independent of any engine.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/engine/engine.hpp>
#include <qio/options.hpp>
#include <qio/statistics.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

/// Decides for one thread, and learns from its waits.
///
/// A wait awake holds a CPU that the completion itself may need: part of it runs in a kernel thread bound to that CPU
/// (the end of a write to blocks never written before, a softirq on a busy machine), and then waits for the scheduler's
/// next tick. So each wait awake is bounded, and an unsuccessful one is followed by waits asleep: one, then two, four
/// ..., up to 64, until one succeeds.
///
/// A nap may cost more than expected: on an idle KVM guest reads took 50 % longer with naps than without any waiting
/// awake (Linux 6.18). So waits with a nap are compared with waits without one, and every eighth wait has none. If naps
/// make waits longer, they are left out: one, two, four ..., up to 1024 times, until they do not.
class waiting {
 public:
  using clock = std::chrono::steady_clock;
  using duration = std::chrono::nanoseconds;

  /// What to do first; after that, sleep.
  struct plan {
    duration nap{};    ///< how long to sleep; 0: not at all
    duration awake{};  ///< then awake, until this long after the start; 0: not at all

    bool is_asleep() const noexcept { return awake.count() == 0; }
  };

  explicit waiting(wait_policy policy) noexcept : policy_(policy) {}

  wait_policy policy() const noexcept { return policy_; }
  const wait_statistics& statistics() const noexcept { return statistics_; }

  /// The plan for a wait that a read is expected to end, or else a write.
  plan next(bool reads) noexcept {
    if (asleep_left_ != 0) {
      --asleep_left_;
      return {};
    }
    if (policy_ == wait_policy::spin) return {duration(0), longest_awake};
    const duration expected = expected_[reads];
    if (expected > longest_worth) return {};
    return {may_nap(expected) ? expected / 3 : duration(0), lesser_of(4 * expected, longest_awake)};
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

  /// Records a wait of length `waited`, and whether it began with a nap.
  void learn(bool reads, duration waited, bool napped) noexcept {
    waited = lesser_of(waited, longest_awake);  // how much longer does not matter
    if (!napped) return take_average(expected_[reads], waited);
    duration& with_nap = expected_with_nap_[reads];
    take_average(with_nap, waited);
    if (with_nap <= expected_[reads] + expected_[reads] / 16) {
      nap_penalty_ = 1;
    } else {
      naps_left_out_ = nap_penalty_;
      nap_penalty_ = lesser_of(2 * nap_penalty_, most_naps_left_out);
      with_nap = expected_[reads];  // for the next attempt
    }
  }

 private:
  bool may_nap(duration expected) noexcept {
    if (expected < shortest_nap_worth || ++waits_ % 8 == 0) return false;
    if (naps_left_out_ == 0) return true;
    --naps_left_out_;
    return false;
  }

  /// Updates a moving average, in which the latest value counts for an eighth.
  static void take_average(duration& average, duration latest) noexcept { average += (latest - average) / 8; }

  // Beyond that, a wait awake saves less than a tenth (some 10 us of falling asleep and waking up).
  static constexpr duration longest_worth = std::chrono::microseconds(100);
  static constexpr duration longest_awake = 2 * longest_worth;
  // A timer's wake-up costs some 10 us: a shorter wait would end before it.
  static constexpr duration shortest_nap_worth = std::chrono::microseconds(20);
  static constexpr unsigned most_asleep = 64;
  static constexpr unsigned most_naps_left_out = 1024;

  wait_policy policy_;
  unsigned asleep_left_ = 0;  // waits that must still be asleep
  unsigned penalty_ = 1;      // ... after the next unsuccessful wait awake
  unsigned waits_ = 0;        // that could have begun with a nap
  unsigned naps_left_out_ = 0;
  unsigned nap_penalty_ = 1;
  duration expected_[2] = {shortest_nap_worth, shortest_nap_worth};  // without a nap
  duration expected_with_nap_[2] = {shortest_nap_worth, shortest_nap_worth};
  wait_statistics statistics_;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
