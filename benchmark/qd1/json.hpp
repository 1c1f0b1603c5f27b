// SPDX-License-Identifier: BSL-1.0
// A report as programs read it.
#pragma once

#include "report.hpp"

#include <string>

namespace qd1 {

std::string json(const report& report);

}  // namespace qd1
