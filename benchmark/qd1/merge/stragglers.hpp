// SPDX-License-Identifier: BSL-1.0
// Which of several runs is behind the others.
#pragma once

#include "report.hpp"

#include <vector>

namespace qd1 {

/// A run straggles whose latency is by half more than the median of all runs', or whose operations a second are by a
/// third less: says so in `straggles`. Of fewer than three runs nobody can say which of them is the odd one.
void name_stragglers(std::vector<contribution>& all);

}  // namespace qd1
