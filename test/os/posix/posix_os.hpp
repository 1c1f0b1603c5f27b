// What tests need from the operating system: on all systems that have POSIX.
#pragma once

#include <qio/qio.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
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

inline bool is_wine() { return false; }

inline bool is_open(qio::platform::native_handle handle) { return ::fcntl(handle, F_GETFD) != -1; }
inline bool is_open_file(qio::platform::native_handle handle) {
  struct stat about;
  return ::fstat(handle, &about) == 0 && S_ISREG(about.st_mode);
}
/// The permission bits of a file, all of them if there is none.
inline unsigned permissions_of(const std::string& path) {
  struct stat about;
  return ::stat(path.c_str(), &about) == 0 ? about.st_mode & 07777u : 07777u;
}
inline bool is_inherited(qio::platform::native_handle handle) { return (::fcntl(handle, F_GETFD) & FD_CLOEXEC) == 0; }
inline void close(qio::platform::native_handle handle) { ::close(handle); }

inline std::size_t page_size() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

/// Whether a handle belongs to the context on which it was opened.
inline constexpr bool binds_handles = false;

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

inline int flags_of(qio::access wanted) {
  return wanted == qio::access::read ? O_RDONLY : wanted == qio::access::write ? O_WRONLY : O_RDWR;
}

/// Waits until a context's wake_handle() is ready. False if `limit` passes first.
inline bool wait_until_ready(qio::platform::native_handle handle, std::chrono::milliseconds limit) {
  pollfd ready{handle, POLLIN, 0};
  int answer = 0;
  do answer = ::poll(&ready, 1, static_cast<int>(limit.count()));
  while (answer < 0 && errno == EINTR);
  return answer == 1;
}

/// Why a thread must not request a stop while another one destroys its callback; empty if that is safe.
inline constexpr std::string_view why_stops_hang;

/// Whether a mapped file can be truncated through another handle.
inline constexpr bool mapped_may_be_cut = true;

/// Whether a rename that must replace nothing may succeed, and change nothing, if both names are of one file.
inline constexpr bool renames_to_itself = false;

/// Whether a mapping shows what direct transfers write.
inline constexpr bool mapped_shows_direct = true;

}  // namespace os
