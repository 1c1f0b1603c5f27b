// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <concepts>

namespace qio::inline QIO_CONFIGURATION {

/// A path for open(): borrowed, null-terminated, in UTF-8. Converts from a string literal, a std::string, and a
/// std::filesystem::path whose characters are char. (Including <filesystem> would double the compile time of the
/// library.)
class path_view {
 public:
  path_view(const char* path) noexcept : path_(path) {}

  template <class Path>
    requires requires(const Path& path) {
      { path.c_str() } -> std::same_as<const char*>;
    }
  path_view(const Path& path) noexcept : path_(path.c_str()) {}

  const char* c_str() const noexcept { return path_; }

 private:
  const char* path_;
};

}  // namespace qio::inline QIO_CONFIGURATION
