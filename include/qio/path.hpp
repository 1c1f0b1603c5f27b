// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <concepts>

namespace qio {

/// A path as open() takes it: borrowed, terminated by zero, in UTF-8. Made from a string literal, a std::string, or a
/// std::filesystem::path where its characters are char. (A class of ours, since <filesystem> would double the time
/// that including the library takes.)
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

}  // namespace qio
