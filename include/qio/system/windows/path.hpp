// SPDX-License-Identifier: BSL-1.0
// Converts paths to the form that Windows takes: from UTF-8 to UTF-16, of any length.
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/windows/error.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Converts a path to UTF-16. Fails with ERROR_NO_UNICODE_TRANSLATION if it is not UTF-8, and substitutes no
/// characters.
inline result<std::wstring> wide(path_view path) {
  const int characters = ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, nullptr, 0);
  if (characters == 0) return last_error();
  std::wstring converted(static_cast<std::size_t>(characters), L'\0');
  ::MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path.c_str(), -1, converted.data(), characters);
  converted.pop_back();  // the terminating zero
  return converted;
}

/// Converts a path to an absolute one in UTF-16. If it is too long for MAX_PATH, adds the prefix (\\?\) that allows
/// 32767 characters without an entry in the program's manifest. It is too long if another name in its directory might
/// not fit in MAX_PATH: one of 8.3 characters, which CreateDirectory requires, or a temporary one of with_new_name().
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
  constexpr std::size_t longest = MAX_PATH - 32;
  if (full.size() < longest || full.starts_with(LR"(\\?\)") || full.starts_with(LR"(\\.\)")) return full;
  if (full.starts_with(LR"(\\)")) return LR"(\\?\UNC)" + full.substr(1);
  return LR"(\\?\)" + full;
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
