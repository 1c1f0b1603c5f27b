// SPDX-License-Identifier: BSL-1.0
// Handles, and errors of system calls on them.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Errors of POSIX calls ---

/// The category of the system's error codes.
inline const std::error_category& system_category() noexcept { return std::system_category(); }

/// The error of a transfer that the file was not opened for.
inline constexpr std::errc not_opened_for = std::errc::bad_file_descriptor;

/// The system's code for a condition.
inline int system_code(std::errc condition) noexcept { return static_cast<int>(condition); }

inline error system_error(int code) noexcept { return error(std::error_code(code, system_category())); }
inline error last_error() noexcept { return system_error(errno); }

// --- Closing, measuring and resizing a file by POSIX calls ---

static_assert(sizeof(off_t) >= sizeof(std::int64_t),
              "qio: file offsets have 32 bits in this build: compile with -D_FILE_OFFSET_BITS=64");

using native_handle = int;
inline constexpr native_handle invalid_handle = -1;
/// Passed in place of the directory that a path must stay beneath: the path may lead anywhere.
inline constexpr native_handle anywhere = AT_FDCWD;

/// For systems whose handles are not the operating system's, but numbers that start at 1, such as the simulated disk's.
inline native_handle handle_of(std::uint64_t number) noexcept { return static_cast<native_handle>(number); }
inline std::uint64_t number_of(native_handle handle) noexcept { return static_cast<std::uint64_t>(handle); }

inline native_handle open_retrying(const char* path, int flags, mode_t permissions) noexcept {
  native_handle handle;
  do handle = ::open(path, flags, permissions);
  while (handle < 0 && errno == EINTR);
  return handle;
}

/// Frees the handle even if it fails: Linux does so before any error can occur, EINTR included (close(2)); macOS and
/// FreeBSD do so, too.
inline result<void> close(native_handle handle) noexcept {
  if (::close(handle) == 0 || errno == EINTR) return success();
  return last_error();
}

/// Another handle of the same open file.
inline result<native_handle> duplicate(native_handle handle) noexcept {
  const native_handle copy = ::fcntl(handle, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) return last_error();
  return copy;
}

/// The size of a device in bytes, which is not in its inode. Each system has a call of its own.
result<std::uint64_t> size_of_device(native_handle handle, const struct stat& status) noexcept;

/// In bytes. Includes devices.
inline result<std::uint64_t> size(native_handle handle) noexcept {
  struct stat status;
  if (::fstat(handle, &status) != 0) return last_error();
  if (S_ISREG(status.st_mode)) return static_cast<std::uint64_t>(status.st_size);
  if (S_ISDIR(status.st_mode)) return system_error(EBADF);  // see close_and_keep_number()
  return size_of_device(handle, status);
}

inline result<void> resize(native_handle handle, std::uint64_t bytes) noexcept {
  if (bytes > detail::max_offset) return error(errc::offset_too_large, bytes, detail::max_offset);
  while (::ftruncate(handle, static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

}  // namespace platform
QIO_END_NAMESPACE
