// SPDX-License-Identifier: BSL-1.0
// The tree of files in which Linux describes itself (/proc, /sys, /dev, /etc), or a copy of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace qd1::linux_system {

/// Paths are relative to the root: "sys/block". What is not there, or may not be read, is absent or empty.
class tree {
 public:
  explicit tree(std::filesystem::path root = "/");

  bool exists(const std::filesystem::path& path) const;
  bool is_file(const std::filesystem::path& path) const;
  /// The contents of a file, without white space around it.
  std::optional<std::string> text(const std::filesystem::path& path) const;
  std::optional<std::uint64_t> number(const std::filesystem::path& path) const;
  /// 0 or 1.
  std::optional<bool> flag(const std::filesystem::path& path) const;
  /// Names in a directory, sorted, numbers by value.
  std::vector<std::string> names(const std::filesystem::path& path) const;
  /// Where a path leads when its links are followed, relative to the root.
  std::optional<std::filesystem::path> resolved(const std::filesystem::path& path) const;

 private:
  std::filesystem::path root_;
};

}  // namespace qd1::linux_system
