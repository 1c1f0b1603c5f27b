// SPDX-License-Identifier: BSL-1.0
#include "printable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <system_error>

namespace qd1 {
namespace {

struct code_range {
  std::uint32_t first, last;
};

// Unicode: the general category Cc, the separators of lines, U+FFF9 to U+FFFB, and what has the property
// Default_Ignorable_Code_Point (Unicode 15.1, DerivedCoreProperties.txt): nobody sees it, or it changes the direction.
// And symbols without ink that are no white space: U+2800 (the blank Braille pattern), U+1D159 (the null notehead).
constexpr auto command_codes = std::to_array<code_range>(
    {{0x00, 0x1f},       {0x7f, 0x9f},       {0xad, 0xad},      {0x34f, 0x34f},   {0x61c, 0x61c},   {0x115f, 0x1160},
     {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e}, {0x2060, 0x206f}, {0x2800, 0x2800},
     {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3},
     {0x1d159, 0x1d159}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}});

std::string with_commands_shown(std::string_view text, bool keeps_lines) {
  std::string found;
  found.reserve(text.size());
  const auto to = std::back_inserter(found);
  while (!text.empty()) {
    const character next = first_character(text);
    const bool is_kept = keeps_lines && (next.code == '\n' || next.code == '\t');
    if (next.bytes == 0)
      fmt::format_to(to, "\\x{:02x}", static_cast<unsigned char>(text[0]));
    else if (!is_command(next.code) || is_kept)
      found += text.substr(0, next.bytes);
    else if (next.code > 0xffff)
      fmt::format_to(to, "\\u{:04x}\\u{:04x}", 0xd7c0 + (next.code >> 10), 0xdc00 + (next.code & 0x3ff));
    else
      fmt::format_to(to, "\\u{:04x}", next.code);
    text.remove_prefix(std::max<std::size_t>(next.bytes, 1));
  }
  return found;
}

}  // namespace

character first_character(std::string_view text) {
  const auto byte = [&](std::size_t at) -> std::uint32_t {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto continues = [&](std::size_t to) {
    for (std::size_t at = 1; at < to; ++at)
      if ((byte(at) & 0xc0u) != 0x80u) return false;
    return true;
  };
  if (text.empty()) return {};
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) >= 0xc2 && byte(0) <= 0xdf && continues(2)) return {(byte(0) & 0x1fu) << 6 | (byte(1) & 0x3fu), 2};
  // Not those longer than need be, nor surrogates, nor what XML forbids (U+FFFE, U+FFFF).
  if ((byte(0) & 0xf0u) == 0xe0 && continues(3)) {
    const std::uint32_t code = (byte(0) & 0xfu) << 12 | (byte(1) & 0x3fu) << 6 | (byte(2) & 0x3fu);
    if (code >= 0x800 && (code < 0xd800 || code > 0xdfff) && code < 0xfffe) return {code, 3};
  }
  if (byte(0) >= 0xf0 && byte(0) <= 0xf4 && continues(4)) {
    const std::uint32_t code =
        (byte(0) & 0x7u) << 18 | (byte(1) & 0x3fu) << 12 | (byte(2) & 0x3fu) << 6 | (byte(3) & 0x3fu);
    if (code >= 0x10000 && code <= 0x10ffff) return {code, 4};
  }
  return {};
}

bool is_command(std::uint32_t code) {
  return std::ranges::any_of(command_codes,
                             [&](const code_range& each) { return code >= each.first && code <= each.last; });
}

std::string printable(std::string_view text) { return with_commands_shown(text, true); }

std::string printable_line(std::string_view text) { return with_commands_shown(text, false); }

void print(std::FILE* to, std::string_view text) {
  try {
    fmt::print(to, "{}", printable(text));
  } catch (const std::system_error&) {
    if (to != stderr) throw;
  }
}

}  // namespace qd1
