// SPDX-License-Identifier: BSL-1.0
#include "statistics/monotone.hpp"

#include <algorithm>
#include <limits>

namespace qd1 {
namespace {

interval* interval_in(percentile& of) { return of.value && of.value->interval ? &*of.value->interval : nullptr; }

}  // namespace

void make_monotone(std::vector<percentile>& percentiles) {
  double least = 0;
  for (percentile& each : percentiles)
    if (interval* const found = interval_in(each)) {
      // Its own value stays in it, whatever rounding did to the values.
      found->low = std::min(std::max(found->low, least), each.value->value);
      least = found->low;
    }
  double most = std::numeric_limits<double>::max();
  for (auto each = percentiles.rbegin(); each != percentiles.rend(); ++each)
    if (interval* const found = interval_in(*each)) {
      found->high = std::max(std::min(found->high, most), each->value->value);
      most = found->high;
    }
}

}  // namespace qd1
