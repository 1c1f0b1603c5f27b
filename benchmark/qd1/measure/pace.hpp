// SPDX-License-Identifier: BSL-1.0
// When transfers begin.
#pragma once

#include "measure/clock.hpp"
#include "measure/offsets.hpp"
#include "report.hpp"

#include <cmath>
#include <cstdint>
#include <optional>

namespace qd1 {

/// Closed loop: a transfer begins when the previous one is complete, so the service time is measured. Open loop: a
/// transfer begins at a time that is fixed beforehand. If it has to wait for its predecessor, the wait counts (leaving
/// that out is called coordinated omission). The times of a series continue from round to round, as if no time passed
/// between rounds: arrivals that wait when a round ends are served in the next.
class pace {
 public:
  /// `seed`: of the series; random arrivals are drawn from it, independently of its offsets.
  pace(const clock& clock, const work& work, std::uint64_t seed)
      : clock_(clock),
        ticks_(work.rate ? static_cast<double>(clock.ticks(1)) / *work.rate : 0),
        poisson_(work.poisson),
        random_(~seed) {}

  /// Called when a round begins or ends.
  void resume(std::uint64_t now) noexcept {
    next_ = next_ < 0 ? static_cast<double>(now) + interval() : next_ + static_cast<double>(now - paused_);
  }
  void pause(std::uint64_t now) noexcept { paused_ = now; }

  /// Waits for the time of the next transfer and returns it. If that is after the deadline, waits for the deadline and
  /// returns nothing.
  /// Spins, because a sleep would take too long.
  std::optional<std::uint64_t> begin(std::uint64_t deadline) noexcept {
    std::uint64_t now = clock_.before();
    if (ticks_ == 0) return now;
    const bool comes = next_ < static_cast<double>(deadline);
    const auto intended = comes ? static_cast<std::uint64_t>(next_) : deadline;
    while (now < intended) now = clock_.before();
    if (!comes) return std::nullopt;
    next_ += interval();
    return intended;
  }

  /// About how many transfers should have begun before `time` but have not. 0 in a closed loop.
  double waiting(std::uint64_t time) const noexcept {
    const double late = static_cast<double>(time) - next_;
    return ticks_ == 0 || late <= 0 ? 0 : std::floor(late / ticks_) + 1;
  }

 private:
  // In (0, 1].
  double uniform() noexcept { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }

  double interval() noexcept { return poisson_ ? -std::log(uniform()) * ticks_ : ticks_; }

  const clock& clock_;
  double ticks_;  // between two transfers; 0 in a closed loop
  bool poisson_;
  double next_ = -1;  // when the next one should begin; before the first round: negative
  std::uint64_t paused_ = 0;
  splitmix64 random_;
};

}  // namespace qd1
