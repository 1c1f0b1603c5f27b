// SPDX-License-Identifier: BSL-1.0
// What pairs of runs decided, in words.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// "SLOWER by 2.1 % (0.4 … 3.9)", "no difference of 2 %: 0.3 % (-0.9 … 1.5)", "undecided: …"
std::string detection_verdict(const detection& of);

/// A paragraph for each detection of the report, and what they rest on.
std::string detection_text(const report& report);

}  // namespace qd1
