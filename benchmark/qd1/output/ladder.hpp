// SPDX-License-Identifier: BSL-1.0
// Loads as a person reads them in a terminal.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// A table for each ladder, a line a step; where it bends; what there is to know.
std::string ladder_blocks(const report& report);

}  // namespace qd1
