// SPDX-License-Identifier: BSL-1.0
// File systems that a context has opened files on, so that it knows whether opening another one there may wait.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/linux/page_cache.hpp>
#include <qio/system/posix/fork.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Remembers file systems by the numbers of their mounts. On kernels that have none, remembers them by device number,
/// until something is mounted or unmounted where the calling thread sees it (its mount namespace), since another file
/// system may have the number then. To ask the file system itself could wait: FUSE and NFS hand fstatfs(2) on.
class known_file_systems {
 public:
  known_file_systems() noexcept = default;
  known_file_systems(const known_file_systems&) = delete;
  known_file_systems& operator=(const known_file_systems&) = delete;
  /// That of an open regular file.
  void remember(const file_storage& of) noexcept {
    if (of.place().mount == 0 && mounts_.value() < 0)
      open_in_proc(mounts_, "/proc/thread-self/mountinfo", O_RDONLY | O_CLOEXEC);
    if (handles_.value() < 0) open_in_proc(handles_, "/proc/thread-self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
    known_[number_of(of.place()) % most] = of;
  }

  /// That of a file at this place. Null if none was opened before. Does not wait.
  const file_storage* find(const file_place& where) noexcept {
    const std::optional<file_storage>& found = known_[number_of(where) % most];
    if (!found || found->place().device != where.device || found->place().mount != where.mount) return nullptr;
    if (where.mount != 0 || !mounts_have_changed()) return &*found;
    for (std::optional<file_storage>& each : known_) each.reset();
    return nullptr;
  }

  /// Opens the file that is open as `found` (O_PATH) once more. Returns a handle, or invalid_handle.
  native_handle reopen(native_handle found, int flags) const noexcept {
    return ::openat(handles_.value(), std::to_string(found).c_str(), flags);  // a magic link (proc_pid_fd(5))
  }

 private:
  static constexpr unsigned most = 16;

  static std::uint64_t number_of(const file_place& where) noexcept {
    return where.mount != 0 ? where.mount : where.device;
  }

  static void open_in_proc(private_descriptor& into, const char* path, int flags) noexcept {
    {
      const without_fork none;
      if (!into.take(none, open_retrying(path, flags, 0))) return;
    }
    struct statfs system;
    if (::fstatfs(into.value(), &system) != 0 || system.f_type != PROC_SUPER_MAGIC) into.close();
  }

  // The kernel reports a change once (proc_pid_mountinfo(5)).
  bool mounts_have_changed() const noexcept {
    pollfd asked{mounts_.value(), POLLPRI, 0};
    return mounts_.value() < 0 || ::poll(&asked, 1, 0) != 0;
  }

  private_descriptor mounts_;
  private_descriptor handles_;  // the directory of this thread's handles
  std::optional<file_storage> known_[most];
};

}  // namespace qio::inline QIO_CONFIGURATION::platform
