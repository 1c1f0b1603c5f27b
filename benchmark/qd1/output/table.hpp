// SPDX-License-Identifier: BSL-1.0
// A report as a person reads it in a terminal.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

/// At most 100 columns wide.
std::string table(const report& report);

}  // namespace qd1
