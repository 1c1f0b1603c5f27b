// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::windows_system {

struct version {
  std::uint32_t major = 0, minor = 0, build = 0;
  bool server = false;
};

/// None where Windows does not report it.
std::optional<version> find_version();

/// "Windows 11, build 22631"
std::string name_of(const version& of);

/// "Wine 8.0 on Linux" where this is no Windows at all.
std::optional<std::string> find_wine();

}  // namespace qd1::windows_system
