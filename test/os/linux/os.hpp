// What tests need from the operating system: on Linux.
#pragma once

#include "../posix/posix_os.hpp"
#include <qio/qio.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace os {

/// Whether the files of a directory are in memory alone, so that there is nothing to write back.
inline bool is_in_memory(const std::filesystem::path& directory) {
  struct statfs system;
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

/// Whether it is in an overlay: the root of most containers. An overlay has no RWF_NOWAIT, so Linux AIO gets none of
/// its transfers, and without statx(2) its direct I/O is unknown.
inline bool is_in_overlay(const std::filesystem::path& directory) {
  struct statfs system;
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == OVERLAYFS_SUPER_MAGIC;
}

/// Takes the lock of an open file description on the whole file, without waiting.
inline bool lock_whole(qio::platform::native_handle handle) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  return ::fcntl(handle, F_OFD_SETLK, &whole) == 0;
}

/// Whether there is a call that starts writeback.
inline constexpr bool has_writeback = true;

/// A new handle of an existing file. invalid_handle if the file system refuses direct I/O.
inline qio::platform::native_handle open_raw(const std::string& path, const raw_open& how) {
  return ::open(path.c_str(), flags_of(how.access) | (how.direct ? O_DIRECT : 0) | (how.durable ? O_DSYNC : 0) |
                                  (how.appends ? O_APPEND : 0) | O_CLOEXEC);
}

/// From now on, system calls on this file's handle fail because it is not that of an ordinary file.
inline void take_away(qio::platform::native_handle handle) {
  const int nothing = ::open("/", O_PATH | O_CLOEXEC);
  ::dup2(nothing, handle);
  ::close(nothing);
}

/// Whether this process has it open.
inline bool has_open(const std::string& path) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own
    if (std::filesystem::equivalent(each.path(), path, gone)) return true;
  }
  return false;
}

}  // namespace os
