// SPDX-License-Identifier: BSL-1.0
// Paths in messages: other users may have chosen them.
#pragma once

#include <qio/configuration.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace qio::inline QIO_CONFIGURATION::detail {

/// A character of UTF-8 text.
struct utf8_character {
  std::uint32_t code = 0;
  std::size_t bytes = 0;  ///< 0: not UTF-8
};

/// The first character of `text`, which is not empty.
inline utf8_character first_character(std::string_view text) noexcept {
  const auto byte = [&](std::size_t at) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const std::size_t bytes = first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  if (bytes == 0 || bytes > text.size()) return {};
  std::uint32_t code = first & (0xffu >> (bytes + 1));
  for (std::size_t at = 1; at < bytes; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(at) & 0x3f);
  }
  const bool is_longer_than_needed = (bytes == 3 && code < 0x800) || (bytes == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  if (is_longer_than_needed || is_surrogate || code > 0x10ffff) return {};
  return {code, bytes};
}

/// Whether a character controls a terminal or changes how other characters are shown, or is invisible: control
/// characters (C0, C1), separators of lines, and what has the property Default_Ignorable_Code_Point (Unicode 15.1).
inline bool is_command(std::uint32_t code) noexcept {
  constexpr struct {
    std::uint32_t first, last;
  } commands[] = {{0x0, 0x1f},      {0x7f, 0x9f},       {0xad, 0xad},       {0x34f, 0x34f},    {0x61c, 0x61c},
                  {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},  {0x2028, 0x202e},
                  {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},  {0xffa0, 0xffa0},
                  {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff}};
  for (const auto& each : commands)
    if (code >= each.first && code <= each.last) return true;
  return false;
}

/// `text` for a one-line message: the bytes of commands, and those that are not UTF-8, become "\x1b".
inline std::string printable(std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    const utf8_character next = first_character(text);
    const std::size_t bytes = next.bytes == 0 ? 1 : next.bytes;
    const bool is_hidden = next.bytes == 0 || is_command(next.code);
    if (!is_hidden) shown += text.substr(0, bytes);
    for (std::size_t at = 0; is_hidden && at < bytes; ++at) {
      const auto byte = static_cast<unsigned char>(text[at]);
      (shown += "\\x").append({digits[byte >> 4], digits[byte & 15]});
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

/// `path`, or the beginning and the end of one that is too long for a message.
inline std::string shortened(std::string_view path) {
  constexpr std::size_t longest = 1024, each_end = 500;
  if (path.size() <= longest) return std::string(path);
  return std::string(path.substr(0, each_end)).append("...").append(path.substr(path.size() - each_end));
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
