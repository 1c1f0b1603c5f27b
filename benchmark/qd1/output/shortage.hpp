// SPDX-License-Identifier: BSL-1.0
// Steps with short memory as a person reads them in a terminal.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// A line per step, what bound each, and the figures that show it.
std::string shortage_block(const report& report);

}  // namespace qd1
