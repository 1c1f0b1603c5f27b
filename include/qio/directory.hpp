// SPDX-License-Identifier: BSL-1.0
// A directory held open, for open_options::beneath.
#pragma once

#include <qio/detail/platform.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <utility>

namespace qio {

/// A directory that paths are kept beneath, whoever chose them and whatever others rename or link meanwhile:
///
///     auto uploads = qio::directory::open("/srv/uploads").value();
///     qio::open_options options;
///     options.beneath = &uploads;
///     auto file = qio::cached_file::open(name, qio::access::read, qio::creation::open_existing, options);
///
/// The kernel sees to it while it walks the path (openat2(2) with RESOLVE_BENEATH). What leads out is refused with
/// errc::leaves_directory: an absolute path, a ".." too many, a symbolic link to either, wherever in the path. Symbolic
/// links that stay beneath are followed, but for the "magic" ones of /proc (std::errc::too_many_symbolic_link_levels).
/// Whatever `creation` creates, replaces, or removes because opening failed, is beneath the directory, too. A ".."
/// while somebody keeps renaming directories may end in std::errc::resource_unavailable_try_again. Other mounts
/// beneath the directory count as beneath, hard links are files like any other, and so are pipes and devices.
///
/// Needs Linux 5.6 (errc::beneath_not_supported), and that no sandbox forbids the call (errc::beneath_forbidden); there
/// is no less safe way that would be taken instead. Not to be had on Windows or a simulated disk.
class [[nodiscard]] directory {
 public:
  /// The directory at `path`, which may lead anywhere. The handle is not inherited by child processes, stands for the
  /// same directory when that is renamed, and allows nothing but to search it, which is all that it needs leave for.
  /// Fails where no path could be kept beneath it.
  static result<directory> open(path_view path) {
    const auto opened = platform::open_directory(path);
    if (!opened) return opened.error();
    return directory(opened.value());
  }

  directory(directory&& other) noexcept : handle_(std::exchange(other.handle_, platform::invalid_handle)) {}
  directory& operator=(directory&& other) noexcept {
    directory taken(std::move(other));
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~directory() {
    if (handle_ != platform::invalid_handle) static_cast<void>(platform::close(handle_));
  }

  /// Of one that has been moved from: platform::invalid_handle.
  platform::native_handle native_handle() const noexcept { return handle_; }

 private:
  explicit directory(platform::native_handle opened) noexcept : handle_(opened) {}

  platform::native_handle handle_;
};

}  // namespace qio
