// SPDX-License-Identifier: BSL-1.0
// One figure of a series, by its name.
#pragma once

#include "report.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace qd1 {

/// "p50" … "p99.999", "mean", "max": nanoseconds; "iops". Throws usage_error for any other name.
void require_metric(std::string_view name);

/// None if there are too few samples. The interval is widened by how much successive samples depend on one another, as
/// the means of blocks tell; "max" and "iops" have none.
std::optional<estimate> metric(const series& series, std::string_view name);

}  // namespace qd1
