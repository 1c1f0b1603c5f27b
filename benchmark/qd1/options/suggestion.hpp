// SPDX-License-Identifier: BSL-1.0
// Suggests a command, or an option, for a mistyped one.
#pragma once

#include "options/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

/// "; did you mean the command depth?" for "dpeth"; "." if no command is near.
std::string did_you_mean(std::string_view typed, const std::vector<command>& all);

/// "; did you mean --modes?" for "--mods", of the options' names; "." if none is near.
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& options);

}  // namespace qd1
