// SPDX-License-Identifier: BSL-1.0
// What is generated from the tables of options besides the help.
#pragma once

#include "options/options.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace qd1 {

/// For man(1).
std::string manual_page(const std::vector<command>& all);
/// The same for a terminal, at most 80 columns wide; benchmark/qd1/manual.txt.
std::string manual_text(const std::vector<command>& all);

/// What --help prints: of one command, and of all. Lines have at most `width` columns.
std::string help_text(const command& of, std::size_t width = 80);
std::string help_text(const std::vector<command>& all, std::size_t width = 80);

std::string bash_completion(const std::vector<command>& all);
std::string zsh_completion(const std::vector<command>& all);
std::string fish_completion(const std::vector<command>& all);

}  // namespace qd1
