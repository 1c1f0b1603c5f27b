// SPDX-License-Identifier: BSL-1.0
// What may happen to the process and its clock during a run, and change the meaning of its figures.
#pragma once

#include "measure/clock.hpp"
#include "platform/process.hpp"
#include "report.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace qd1 {

/// Made before a run, asked after it.
class disruptions {
 public:
  /// `seconds_suspended`: for how long the machine has been suspended since it was booted. Tests suspend it.
  explicit disruptions(const clock& clock, std::function<double()> seconds_suspended = platform::seconds_suspended);

  /// Notes what has happened. All series are invalid if the clock ran at another speed than the system's.
  void judge(report& run) const;

 private:
  void judge_clock(report& run) const;

  // Both clocks at nearly the same time.
  struct reading {
    std::uint64_t tick = 0;
    std::optional<double> since_boot = {};  // seconds
    double apart = 0;                       // seconds, at most
  };
  reading both_clocks() const;

  const clock& clock_;
  reading begin_;
  std::function<double()> seconds_suspended_;
  double suspended_;
  std::vector<std::uint64_t> processors_;
};

/// "the clock counted 49.35 s while …", if the system ran for `real` seconds; empty if they agree,
/// given that they were read up to `apart` seconds from each other.
std::string clock_complaint(double own, double real, double apart = 0);

}  // namespace qd1
