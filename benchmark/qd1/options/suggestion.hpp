// SPDX-License-Identifier: BSL-1.0
// Suggests a command for a mistyped one.
#pragma once

#include "options/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

/// "; did you mean the command depth?" for "dpeth"; "." if no command is near.
std::string did_you_mean(std::string_view typed, const std::vector<command>& all);

}  // namespace qd1
