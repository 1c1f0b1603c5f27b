// SPDX-License-Identifier: BSL-1.0
// What repeated runs show about another run.
#pragma once

#include "report.hpp"

#include <span>

namespace qd1 {

/// The geometric mean of a figure that each of several runs found, with the 95 % interval by Student's t over the
/// logarithms. It includes what differs from run to run but not from round to round: where a buffer lies, which host
/// the machine is on. Withheld with fewer than three runs, if a run found zero or less, or if the interval would reach
/// 1,000 times the figure.
estimate between_runs(std::span<const double> of_runs);

}  // namespace qd1
