// SPDX-License-Identifier: BSL-1.0
// What pairs of runs decided, for code that prints or draws it.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// "SLOWER by 2.1 % (0.4 … 3.9)", "no difference of 2 %: 0.3 % (-0.9 … 1.5)", "undecided: …"
std::string detection_verdict(const detection& of);

/// Nanoseconds; 0: there are no pairs.
struct compared_medians {
  double base = 0;
  double now = 0;
};

/// The middle of all pairs, and both sides as far apart as their ratio.
compared_medians medians_of(const detection& of);

/// How far the verdicts of a report can be trusted.
constexpr const char* trust_in_detections =
    "Each pair was run in random order. The intervals hold together with 95 %, however often they were looked at.";

}  // namespace qd1
