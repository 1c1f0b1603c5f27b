// SPDX-License-Identifier: BSL-1.0
#include "findings/kind.hpp"

#include <algorithm>

namespace qd1 {

report_kind kind_by_series(const report& read) {
  const auto any = [&](auto&& has) { return std::ranges::any_of(read.series, has); };
  if (any([](const series& each) { return each.work.memory.has_value(); })) return report_kind::memory;
  return any([](const series& each) { return each.work.load != load(); }) ? report_kind::depth : report_kind::run;
}

}  // namespace qd1
