// SPDX-License-Identifier: BSL-1.0
// File systems that a context has opened files on, so that it knows whether opening another one there may wait.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <cstdint>
#include <optional>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Remembers file systems until something is mounted or unmounted where the calling thread sees it (its mount
/// namespace), since a device number may be another file system's then. To ask the file system itself could wait: FUSE
/// and NFS hand fstatfs(2) on.
class known_file_systems {
 public:
  known_file_systems() noexcept = default;
  known_file_systems(const known_file_systems&) = delete;
  known_file_systems& operator=(const known_file_systems&) = delete;
  ~known_file_systems() {
    if (mounts_ != invalid_handle) ::close(mounts_);
  }

  /// That of an open regular file.
  void remember(const file_storage& of) noexcept {
    if (mounts_ == invalid_handle) mounts_ = open_retrying("/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC, 0);
    known_[of.device() % most] = of;
  }

  /// That of a file with this device number. Null if none was opened before. Does not wait.
  const file_storage* find(std::uint64_t device) noexcept {
    const std::optional<file_storage>& found = known_[device % most];
    if (!found || found->device() != device) return nullptr;
    if (!mounts_have_changed()) return &*found;
    for (std::optional<file_storage>& each : known_) each.reset();
    return nullptr;
  }

 private:
  static constexpr unsigned most = 16;

  // The kernel reports a change once (proc_pid_mountinfo(5)).
  bool mounts_have_changed() const noexcept {
    pollfd asked{mounts_, POLLPRI, 0};
    return mounts_ == invalid_handle || ::poll(&asked, 1, 0) != 0;
  }

  native_handle mounts_ = invalid_handle;
  std::optional<file_storage> known_[most];
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
