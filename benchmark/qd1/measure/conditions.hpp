// SPDX-License-Identifier: BSL-1.0
// What about the host bears on the figures of a finished run, said in words.
#pragma once

#include "report.hpp"

namespace qd1 {

/// Notes what the host did: time stolen by other guests, heat, limits of memory; and what else served reads than a
/// device.
void judge_conditions(report& run);

}  // namespace qd1
