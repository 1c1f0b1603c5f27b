// SPDX-License-Identifier: BSL-1.0
// Intervals of percentiles that agree with one another.
#pragma once

#include "report.hpp"

#include <vector>

namespace qd1 {

/// A percentile is at least as large as each lower one, and so are the limits of its interval: raises lower limits to
/// those of lower percentiles, and reduces upper limits to those of higher ones. With few rounds or runs, that of a
/// rare percentile would reach down to the minimum of all samples. `percentiles`: ascending. Those without an interval
/// stay as they are.
void make_monotone(std::vector<percentile>& percentiles);

}  // namespace qd1
