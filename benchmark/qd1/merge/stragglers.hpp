// SPDX-License-Identifier: BSL-1.0
// Which of several runs is behind the others.
#pragma once

#include "report.hpp"

#include <vector>

namespace qd1 {

/// Sets `straggles` for each run whose latency exceeds the median of all runs by half, or whose operations per second
/// are a third below it. With fewer than three runs the odd one out is unknown, so none is set.
void name_stragglers(std::vector<contribution>& all);

}  // namespace qd1
