// SPDX-License-Identifier: BSL-1.0
#include <qio/system/windows/calls.hpp>

#include <qd1/machine/windows/text.hpp>

#include <cstddef>

namespace qd1::windows_system {

std::string narrow(std::wstring_view text) {
  const int length = static_cast<int>(text.size());
  const int bytes = ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, nullptr, 0, nullptr, nullptr);
  std::string converted(static_cast<std::size_t>(bytes), '\0');
  ::WideCharToMultiByte(CP_UTF8, 0, text.data(), length, converted.data(), bytes, nullptr, nullptr);
  return converted;
}

}  // namespace qd1::windows_system
