// SPDX-License-Identifier: BSL-1.0
// Text for people, on a terminal or in a page. Some of it comes from elsewhere: reports, names of files, the kernel.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace qd1 {

/// The character that `text` begins with.
struct character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< of UTF-8; 0: it begins with none
};
character first_character(std::string_view text);

/// Whether a character controls a terminal or a page instead of being shown: control characters (C0 and C1, so ESC and
/// CSI), those that change the direction of text or the place of lines, those without width.
bool is_command(std::uint32_t code);

/// The same text with every command as "\u001b" and every byte that is not UTF-8 as "\xff". Lines and tabs stay. What
/// is JSON stays JSON of the same value.
std::string printable(std::string_view text);

/// As printable(), on one line: lines and tabs are commands, too.
std::string printable_line(std::string_view text);

/// Prints printable(text). Whatever qd1 shows goes through here. Throws std::system_error if it cannot be printed to
/// standard output; nobody could be shown an error of standard error.
void print(std::FILE* to, std::string_view text);

}  // namespace qd1
