// SPDX-License-Identifier: BSL-1.0
// Whether a series had settled.
#pragma once

#include "report.hpp"

#include <optional>
#include <vector>

namespace qd1 {

/// As SNIA's performance test specification asks: over five windows, the mean latency stays within 20 % of its average,
/// and its trend within 10 %. None if there are not five windows of slices.
std::optional<bool> is_steady(const std::vector<slice>& slices);

}  // namespace qd1
