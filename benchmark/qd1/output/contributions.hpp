// SPDX-License-Identifier: BSL-1.0
// Merged runs as a person reads them in a terminal.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// A table for each series that was merged, a line a run. Empty if none was.
std::string contributions(const report& report);

}  // namespace qd1
