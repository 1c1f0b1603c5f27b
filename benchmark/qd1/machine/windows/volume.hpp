// SPDX-License-Identifier: BSL-1.0
// Where a file lies.
#pragma once

#include <qd1/machine/facts.hpp>

#include <cstdint>
#include <optional>
#include <string>

namespace qd1::windows_system {

struct volume {
  std::string path;  ///< in UTF-8: what was asked for, or the nearest directory above it that exists
  std::wstring native;
  std::wstring root;                  ///< with a backslash at its end; empty where that is not known
  bool is_device = false;             ///< a volume or disk itself, and no file on it
  std::optional<std::uint32_t> disk;  ///< 0 of PhysicalDrive0
};

volume locate(const std::string& path);

/// The same of "\\.\PhysicalDrive0" and "\\.\D:"; none of other paths.
std::optional<volume> locate_device(const std::string& path);

filesystem_facts find_filesystem(const volume& on);

}  // namespace qd1::windows_system
