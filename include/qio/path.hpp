// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#if QIO_HAS_IOCP
#include <qio/base/utf8.hpp>  // for wide paths, which other systems do not have
#endif

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace detail {

/// Whether it is a std::string or the like, or a std::filesystem::path whose characters are char.
template <class Path>
concept narrow_path = requires(const Path& path) {
  { path.c_str() } -> std::same_as<const char*>;
};
/// Whether it is a std::filesystem::path of Windows, or a std::wstring there: UTF-16.
template <class Path>
concept wide_path = sizeof(wchar_t) == 2 && requires(const Path& path) {
  { path.c_str() } -> std::same_as<const wchar_t*>;
};

/// All characters of a string or a path, with null characters.
template <class Path>
auto characters_of(const Path& path) noexcept {
  using view = std::basic_string_view<std::remove_cvref_t<decltype(*path.c_str())>>;
  if constexpr (requires { path.native().size(); })
    return view(path.c_str(), path.native().size());
  else if constexpr (requires { path.size(); })
    return view(path.c_str(), path.size());
  else
    return view(path.c_str());
}

/// The same in UTF-8.
template <class Path>
std::string text_of(const Path& path) {
  if constexpr (wide_path<Path>)
    return utf8_of(characters_of(path));
  else
    return std::string(characters_of(path));
}

}  // namespace detail

/// A path for open(): borrowed, null-terminated, in UTF-8. Converts from a string literal, a std::string, and a
/// std::filesystem::path. On Windows, whose paths are UTF-16, this object owns the converted text, which allocates, and
/// every name survives, even one that is not valid UTF-16. (It does not include `<filesystem>`, which would double the
/// compile time of the library.) A string that contains a null character names no file: what takes it fails with
/// errc::null_in_path, whose given() is the index of that character.
class path_view {
 public:
  /// Refers to a null-terminated string, which must outlive this object.
  path_view(const char* path) noexcept : path_(path) {}

  /// Refers to the characters of a std::string or a path, which must outlive this object.
  template <detail::narrow_path Path>
  path_view(const Path& path) noexcept
      : path_(path.c_str()), has_null_(std::string_view(path_).size() != detail::characters_of(path).size()) {}

  /// Converts a path of Windows, and refers to nothing.
  template <detail::wide_path Path>
  path_view(const Path& path)
      : converted_(detail::text_of(path)), has_null_(std::string_view(converted_.data()).size() != converted_.size()) {}

  /// The path, null-terminated.
  const char* c_str() const noexcept { return path_ != nullptr ? path_ : converted_.data(); }

  /// Why it names no file, if it contains a null character; no error otherwise.
  error misfit() const noexcept {
    return has_null_ ? error(errc::null_in_path, std::string_view(c_str()).size(), 0) : error();
  }

 private:
  struct nothing {
    static const char* data() noexcept { return nullptr; }
    static std::size_t size() noexcept { return 0; }
  };

  const char* path_ = nullptr;
  QIO_NO_UNIQUE_ADDRESS std::conditional_t<sizeof(wchar_t) == 2, std::string, nothing> converted_;
  bool has_null_ = false;
};

/// A path that an asynchronous call owns, in UTF-8: a std::string that converts from what path_view converts from.
class owned_path : public std::string {
 public:
  /// Copies a null-terminated string.
  owned_path(const char* path) : std::string(path) {}
  /// Takes a string over.
  owned_path(std::string path) noexcept : std::string(std::move(path)) {}
  /// Copies a std::filesystem::path, or converts it as path_view does.
  template <class Path>
    requires(detail::narrow_path<Path> || detail::wide_path<Path>)
  owned_path(const Path& path) : std::string(detail::text_of(path)) {}
};

QIO_END_NAMESPACE
