// SPDX-License-Identifier: BSL-1.0
// Runs compared: first how their environments differ, then by how much their figures do.
#pragma once

#include "failure.hpp"
#include "report.hpp"

#include <string>

namespace qd1 {

struct comparison {
  exit_status status = exit_pass;  ///< exit_invalid if nothing could be compared
  std::string text;
};

comparison compare(const report& base, const report& now);

}  // namespace qd1
