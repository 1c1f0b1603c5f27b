// SPDX-License-Identifier: BSL-1.0
// Runs compared: first how their environments differ, then by how much their figures do.
#pragma once

#include "failure.hpp"
#include "report.hpp"

#include <string>

namespace qd1 {

/// Why no verdict on these two is possible; empty if one is.
std::string why_not_comparable(const series& base, const series& now);

/// The same for whole runs. Differences in their environment rule a comparison out.
std::string why_not_comparable(const report& base, const report& now);

struct comparison {
  exit_status status = exit_pass;  ///< exit_invalid if nothing could be compared
  std::string text;
};

comparison compare(const report& base, const report& now);

}  // namespace qd1
