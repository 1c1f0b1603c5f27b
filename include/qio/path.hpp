// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <concepts>

namespace qio::inline QIO_CONFIGURATION {

/// A path for open(): borrowed, null-terminated, in UTF-8. Converts from a string literal, a std::string, and a
/// std::filesystem::path whose characters are char. (It does not include `<filesystem>`, which would double the compile
/// time of the library.)
class path_view {
 public:
  /// Refers to a null-terminated string, which must outlive this object.
  path_view(const char* path) noexcept : path_(path) {}

  /// Refers to the characters of a std::string or a path, which must outlive this object.
  template <class Path>
    requires requires(const Path& path) {
      { path.c_str() } -> std::same_as<const char*>;
    }
  path_view(const Path& path) noexcept : path_(path.c_str()) {}

  /// The path, null-terminated.
  const char* c_str() const noexcept { return path_; }

 private:
  const char* path_;
};

}  // namespace qio::inline QIO_CONFIGURATION
