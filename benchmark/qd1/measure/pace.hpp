// SPDX-License-Identifier: BSL-1.0
// When transfers begin.
#pragma once

#include "measure/clock.hpp"
#include "measure/offsets.hpp"
#include "report.hpp"

#include <cmath>
#include <cstdint>

namespace qd1 {

/// Closed loop: a transfer begins when the previous one is complete, so the service time is measured. Open loop: a
/// transfer begins at a time that is fixed beforehand. If it has to wait for its predecessor, the wait counts (leaving
/// that out is called coordinated omission).
class pace {
 public:
  pace(const clock& clock, const work& work)
      : clock_(clock),
        ticks_(work.rate ? static_cast<double>(clock.ticks(1)) / *work.rate : 0),
        poisson_(work.poisson) {}

  /// Waits for the next transfer's time, and answers with it. Waits awake: a sleep would be longer.
  std::uint64_t begin() noexcept {
    std::uint64_t now = clock_.before();
    if (ticks_ == 0) return now;
    if (intended_ == 0) intended_ = static_cast<double>(now);
    intended_ += poisson_ ? -std::log(uniform()) * ticks_ : ticks_;
    const auto intended = static_cast<std::uint64_t>(intended_);
    while (now < intended) now = clock_.before();
    return intended;
  }

 private:
  // In (0, 1].
  double uniform() noexcept { return static_cast<double>((random_() >> 11) + 1) * 0x1p-53; }

  const clock& clock_;
  double ticks_;  // between two transfers; 0 in a closed loop
  bool poisson_;
  double intended_ = 0;
  splitmix64 random_{1};
};

}  // namespace qd1
