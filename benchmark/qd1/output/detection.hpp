// SPDX-License-Identifier: BSL-1.0
// What pairs of runs decided, in words.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// A paragraph for each detection of the report, and what they rest on.
std::string detection_text(const report& report);

}  // namespace qd1
