// What tests need from the operating system: on Linux.
#pragma once

#include <qio/qio.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace os {

// Error codes of the system.
inline constexpr int io_error = EIO, no_file = EBADF, disk_full = ENOSPC, interrupted = EINTR,
                     permission_denied = EACCES, too_large = EFBIG;

inline long process_number() { return ::getpid(); }

/// Whether a write failed because its offset is more than the file system can have.
inline bool is_beyond_file_system(const qio::error& failure) { return failure == std::errc::file_too_large; }

/// Whether the files of a directory are in memory alone, so that there is nothing to write back.
inline bool is_in_memory(const std::filesystem::path& directory) {
  struct statfs system;
  return ::statfs(directory.c_str(), &system) == 0 && system.f_type == TMPFS_MAGIC;
}

inline bool is_open(qio::platform::native_handle handle) { return ::fcntl(handle, F_GETFD) != -1; }
inline bool is_open_file(qio::platform::native_handle handle) {
  struct stat about;
  return ::fstat(handle, &about) == 0 && S_ISREG(about.st_mode);
}
inline bool is_inherited(qio::platform::native_handle handle) { return (::fcntl(handle, F_GETFD) & FD_CLOEXEC) == 0; }
inline void close(qio::platform::native_handle handle) { ::close(handle); }

/// Those of the open file description, which others may share.
inline int flags_of(qio::platform::native_handle handle) { return ::fcntl(handle, F_GETFL); }

/// How a test opens a handle itself. Everything else is what a file of this library needs.
struct raw_open {
  qio::access access = qio::access::read_write;
  bool direct = false;
  bool durable = false;
  bool appends = false;
  bool asynchronous = false;  ///< on Windows
};

/// A new handle of an existing file. invalid_handle if the file system refuses direct I/O.
inline qio::platform::native_handle open_raw(const std::string& path, const raw_open& how) {
  const int access_flags = how.access == qio::access::read    ? O_RDONLY
                           : how.access == qio::access::write ? O_WRONLY
                                                              : O_RDWR;
  return ::open(path.c_str(), access_flags | (how.direct ? O_DIRECT : 0) | (how.durable ? O_DSYNC : 0) |
                                  (how.appends ? O_APPEND : 0) | O_CLOEXEC);
}

/// Waits until a context's wake_handle() is ready. False if `limit` passes first.
inline bool wait_until_ready(qio::platform::native_handle handle, std::chrono::milliseconds limit) {
  pollfd ready{handle, POLLIN, 0};
  int answer = 0;
  do answer = ::poll(&ready, 1, static_cast<int>(limit.count()));
  while (answer < 0 && errno == EINTR);
  return answer == 1;
}

/// From now on, system calls on this file's handle fail because it is not that of an ordinary file.
inline void take_away(qio::platform::native_handle handle) {
  const int nothing = ::open("/", O_PATH | O_CLOEXEC);
  ::dup2(nothing, handle);
  ::close(nothing);
}

/// Why a thread must not request a stop while another one destroys its callback; empty if that is safe.
inline constexpr std::string_view why_stops_hang;

/// Whether a mapped file can be truncated through another handle.
inline constexpr bool mapped_may_be_cut = true;

/// Whether a mapping shows what direct transfers write.
inline constexpr bool mapped_shows_direct = true;

/// Whether this process has it open.
inline bool has_open(const std::string& path) {
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // the iterator's own
    if (std::filesystem::equivalent(each.path(), path, gone)) return true;
  }
  return false;
}

}  // namespace os
