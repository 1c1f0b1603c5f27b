// SPDX-License-Identifier: BSL-1.0
// The names of Windows in UTF-8.
#pragma once

#include <qio/configuration.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Writes UTF-16 as UTF-8, at most three bytes for each unit, and returns the end. An unpaired surrogate, which names
/// of Windows may contain, is three bytes as if it were a character (WTF-8), so that no two names become one.
inline char* put_utf8(std::wstring_view text, char* to) noexcept {
  const auto put = [&](std::uint32_t byte) { *to++ = static_cast<char>(static_cast<unsigned char>(byte)); };
  const auto unit = [&](std::size_t at) {
    return at < text.size() ? std::uint32_t{static_cast<std::uint16_t>(text[at])} : 0;
  };
  for (std::size_t at = 0; at < text.size(); ++at) {
    std::uint32_t code = unit(at);
    if ((code & 0xfc00u) == 0xd800 && (unit(at + 1) & 0xfc00u) == 0xdc00)
      code = 0x10000 + ((code & 0x3ffu) << 10 | (unit(++at) & 0x3ffu));
    const unsigned more = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    constexpr std::uint32_t first[] = {0, 0xc0, 0xe0, 0xf0};
    put(first[more] | code >> 6 * more);
    for (unsigned left = more; left-- != 0;) put(0x80 | (code >> 6 * left & 0x3f));
  }
  return to;
}
/// The same as a string.
inline std::string utf8_of(std::wstring_view text) {
  std::string bytes(text.size() * 3, '\0');
  bytes.resize(static_cast<std::size_t>(put_utf8(text, bytes.data()) - bytes.data()));
  return bytes;
}

}  // namespace detail
QIO_END_NAMESPACE
