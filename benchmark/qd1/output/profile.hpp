// SPDX-License-Identifier: BSL-1.0
// The table of qd1 run --profile.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

std::string profile_block(const report& report);

}  // namespace qd1
