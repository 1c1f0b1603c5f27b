// SPDX-License-Identifier: BSL-1.0
// How the host affected the figures of a finished run, in words.
#pragma once

#include "report.hpp"

namespace qd1 {

/// Notes what the host did: time stolen by other guests, heat, memory limits; and whatever served reads instead of a
/// device. Notes stalls, and time that no latency includes. What the clock could not measure is invalid.
void judge_conditions(report& run);

}  // namespace qd1
