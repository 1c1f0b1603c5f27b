// SPDX-License-Identifier: BSL-1.0
// Whether rounds jump between two levels.
#pragma once

#include <optional>
#include <span>

namespace qd1 {

struct levels {
  double low = 0;             ///< mean of the values of the lower level
  double high = 0;            ///< … of the higher one
  double rounds_a_visit = 0;  ///< how many values in a row are on one level, on average
  bool lasting = false;       ///< several in a row, and for longer than values that are independent would
};

/// None unless the logarithms of the values fall into two clusters of at least two values each, with a gap between them
/// that is three times as large as either cluster. `in_order` of time, all positive.
std::optional<levels> two_levels(std::span<const double> in_order);

}  // namespace qd1
