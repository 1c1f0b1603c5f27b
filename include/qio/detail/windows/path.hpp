// SPDX-License-Identifier: BSL-1.0
// Paths as Windows takes them: from UTF-8 to UTF-16, and as long as they are.
#pragma once

#include <qio/detail/windows/error.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace qio::platform {

/// In UTF-16; what is not UTF-8 is refused (ERROR_NO_UNICODE_TRANSLATION), not replaced by other characters.
inline result<std::wstring> wide(path_view path) {
  const int characters = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, nullptr, 0);
  if (characters == 0) return last_error();
  std::wstring converted(static_cast<std::size_t>(characters), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, converted.data(), characters);
  converted.pop_back();  // the terminating zero
  return converted;
}

/// Absolute. One that is too long for MAX_PATH says that it is to be taken as it is (\\?\), which allows 32767
/// characters without the program's manifest saying so. MAX_PATH has room for a name of 8.3 after a directory.
inline result<std::wstring> native_path(path_view path) {
  auto given = wide(path);
  if (!given) return given;
  std::wstring full(MAX_PATH, L'\0');
  for (;;) {
    const DWORD length =
        calls::GetFullPathNameW(given.value().c_str(), static_cast<DWORD>(full.size()), full.data(), nullptr);
    if (length == 0) return last_error();
    const bool fits = length < full.size();
    full.resize(length);
    if (fits) break;
  }
  constexpr std::size_t longest_directory = MAX_PATH - 12;
  if (full.size() < longest_directory || full.starts_with(LR"(\\?\)") || full.starts_with(LR"(\\.\)")) return full;
  if (full.starts_with(LR"(\\)")) return LR"(\\?\UNC)" + full.substr(1);
  return LR"(\\?\)" + full;
}

}  // namespace qio::platform
