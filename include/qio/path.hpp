// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>

#include <concepts>
#include <string_view>

QIO_BEGIN_NAMESPACE

/// A path for open(): borrowed, null-terminated, in UTF-8. Converts from a string literal, a std::string, and a
/// std::filesystem::path whose characters are char. (It does not include `<filesystem>`, which would double the compile
/// time of the library.) A string that contains a null character names no file: what takes it fails with
/// errc::null_in_path, whose given() is the index of that character.
class path_view {
 public:
  /// Refers to a null-terminated string, which must outlive this object.
  path_view(const char* path) noexcept : path_(path) {}

  /// Refers to the characters of a std::string or a path, which must outlive this object.
  template <class Path>
    requires requires(const Path& path) {
      { path.c_str() } -> std::same_as<const char*>;
    }
  path_view(const Path& path) noexcept
      : path_(path.c_str()), has_null_(std::string_view(path_).size() != size_of(path)) {}

  /// The path, null-terminated.
  const char* c_str() const noexcept { return path_; }

  /// Why it names no file, if it contains a null character; no error otherwise.
  error misfit() const noexcept {
    return has_null_ ? error(errc::null_in_path, std::string_view(path_).size(), 0) : error();
  }

 private:
  template <class Path>
  static auto size_of(const Path& path) noexcept {
    if constexpr (requires { path.native().size(); })
      return path.native().size();
    else if constexpr (requires { path.size(); })
      return path.size();
    else
      return std::string_view(path.c_str()).size();
  }

  const char* path_;
  bool has_null_ = false;
};

QIO_END_NAMESPACE
