// SPDX-License-Identifier: BSL-1.0
// An open directory, for open_options::beneath, and for names beneath it.
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/platform.hpp>

#include <system_error>
#include <utility>

QIO_BEGIN_NAMESPACE

/// An open directory that confines paths: a file opened with open_options::beneath is inside this directory, whoever
/// chose the path and whatever other processes rename or link meanwhile.
///
///     auto uploads = qio::directory::open("/srv/uploads").value();
///     qio::open_options options;
///     options.beneath = &uploads;
///     auto file = qio::cached_file::open(name, qio::access::read, qio::creation::open_existing, options);
///
/// The kernel enforces this while it resolves the path (openat2(2) with RESOLVE_BENEATH). A path that leads out of the
/// directory fails with errc::leaves_directory: an absolute path, too many "..", or a symbolic link to either, anywhere
/// in the path. Symbolic links that stay beneath are followed, except the "magic" links of /proc
/// (std::errc::too_many_symbolic_link_levels). What `creation` creates or replaces, and what a failed open removes, is
/// beneath the directory, too. A path with ".." may fail with std::errc::resource_unavailable_try_again while another
/// process keeps renaming directories. Other mounts beneath the directory count as beneath; hard links and devices are
/// treated like any other file.
///
/// Needs Linux 5.6, FreeBSD or a recent macOS (otherwise errc::beneath_not_supported) and a sandbox that permits the
/// call (otherwise errc::beneath_forbidden); there is no fallback to a less safe method. Unavailable on Windows and on
/// a simulated disk.
class [[nodiscard]] directory {
 public:
  /// Opens the directory at `path`, which may lead anywhere. The handle refers to the same directory after a rename,
  /// permits only searching it, and requires only search permission. Child processes do not inherit it. Fails where
  /// paths cannot be kept beneath a directory.
  static result<directory> open(path_view path) {
    const error misfit = path.misfit();
    const auto opened = misfit.exists() ? result<platform::native_handle>(misfit) : platform::open_directory(path);
    if (!opened) return opened.error().of_opening(path.c_str());
    return directory(opened.value());
  }

  /// Takes over the handle; `other` may then only be assigned to or destroyed.
  directory(directory&& other) noexcept : handle_(std::exchange(other.handle_, platform::invalid_handle)) {}
  /// The same; closes the handle that this object owned.
  directory& operator=(directory&& other) noexcept {
    directory taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~directory() {
    if (handle_ != platform::invalid_handle) static_cast<void>(platform::close(handle_));
  }

  /// Makes the names in this directory durable, as sync_directory() does, whatever its path is by now. Takes permission
  /// to read the directory. Blocks.
  result<void> sync() const {
    if (handle_ == platform::invalid_handle) return error(std::make_error_code(std::errc::bad_file_descriptor));
    return platform::sync_names(handle_);
  }

  /// Owned by this object; platform::invalid_handle after a move from it.
  platform::native_handle native_handle() const noexcept { return handle_; }

 private:
  explicit directory(platform::native_handle opened) noexcept : handle_(opened) {}

  platform::native_handle handle_;
};

namespace detail {

/// What calls of the platform take in place of options that name a directory, or none.
inline platform::native_handle handle_of(const directory* beneath) noexcept {
  return beneath == nullptr ? platform::anywhere : beneath->native_handle();
}

}  // namespace detail
QIO_END_NAMESPACE
