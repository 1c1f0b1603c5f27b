// SPDX-License-Identifier: BSL-1.0
// Color for the words that matter, where the terminal has it.
#pragma once

#include <string>

namespace qd1 {

/// The text, or the same with colors: where standard output is a terminal that has them, and NO_COLOR is not set.
std::string colored(const std::string& text);

/// The same with colors, whatever standard output is.
std::string with_colors(const std::string& text);

}  // namespace qd1
