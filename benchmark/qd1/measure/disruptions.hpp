// SPDX-License-Identifier: BSL-1.0
// What may happen to the process, its clock and its file while a run goes on, and makes its figures mean something
// else.
#pragma once

#include "measure/clock.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>
#include <vector>

namespace qd1 {

/// Made before a run, asked after it.
class disruptions {
 public:
  explicit disruptions(const clock& clock);

  /// Notes what has happened. All series are invalid if the clock went at another speed than the system's.
  void judge(report& run) const;

 private:
  void judge_clock(report& run) const;

  const clock& clock_;
  std::uint64_t tick_;
  std::optional<double> since_boot_;
  double suspended_;
  std::vector<std::uint64_t> processors_;
};

/// "the clock went 100 times as fast …" if the clock counted `own` seconds, the system `real`; empty if they agree.
std::string clock_complaint(double own, double real);

}  // namespace qd1
