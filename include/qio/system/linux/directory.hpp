// SPDX-License-Identifier: BSL-1.0
// Opening a file by a path that must not lead out of a directory: openat2(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The version of the kernel ---

/// Compares the release that uname(2) reports; false if it cannot be read.
inline bool kernel_is_older_than(unsigned major, unsigned minor) noexcept {
  struct utsname kernel;
  unsigned its_major = 0, its_minor = 0;
  return ::uname(&kernel) == 0 && std::sscanf(kernel.release, "%u.%u", &its_major, &its_minor) == 2 &&
         (its_major < major || (its_major == major && its_minor < minor));
}

// --- Opening a file by a path that must not lead out of a directory ---

namespace openat2 {
// From include/uapi/linux/openat2.h, which older systems lack. The number is the same on all architectures except
// alpha.
inline constexpr long number = 437;
inline constexpr std::uint64_t no_magic_links = 0x02, stay_beneath = 0x08, only_cached = 0x20;
struct how {
  std::uint64_t flags, mode, resolve;
};

/// The kernel resolves the path, so renames and links made by others meanwhile cannot lead out of the directory.
/// Returns a handle, or a negative value and errno. The kernel fails with EAGAIN if something was moved while it
/// followed a "..", which another process could repeat forever; so attempts are limited.
inline native_handle call(native_handle directory, const char* path, int flags, mode_t permissions) noexcept {
  constexpr int most_attempts = 100;
  // Otherwise, the kernel requires a mode of 0.
  const bool creates = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const how asked{static_cast<std::uint64_t>(flags), creates ? permissions & 07777u : 0u,
                  stay_beneath | no_magic_links};
  long answer;
  int attempts = 0;
  do answer = ::syscall(number, directory, path, &asked, sizeof asked);
  while (answer < 0 && (errno == EINTR || (errno == EAGAIN && ++attempts < most_attempts)));
  return static_cast<native_handle>(answer);
}

/// Like open(2), or call() if the path must stay beneath a directory, for an existing file, if the kernel has every
/// name on the path in memory (RESOLVE_CACHED, Linux 5.12). Otherwise fails with EAGAIN or, before Linux 5.12, EINVAL.
inline native_handle call_if_cached(native_handle directory, const char* path, int flags) noexcept {
  const std::uint64_t limits = directory == anywhere ? 0 : stay_beneath | no_magic_links;
  const how asked{static_cast<std::uint64_t>(flags), 0, limits | only_cached};
  return static_cast<native_handle>(::syscall(number, directory, path, &asked, sizeof asked));
}
}  // namespace openat2

/// Explains why openat2 failed with `code`. A filter that hides openat2 looks like an old kernel (ENOSYS); one that
/// forbids it looks like a file that must not be changed (EPERM).
inline error why_not_beneath(native_handle directory, int code) noexcept {
  if (code == EXDEV) return errc::leaves_directory;
  if (code == ENOSYS) return kernel_is_older_than(5, 6) ? errc::beneath_not_supported : errc::beneath_forbidden;
  if (code == EPERM) {
    const native_handle itself = openat2::call(directory, ".", search_only, 0);
    if (itself == invalid_handle && errno == EPERM) return errc::beneath_forbidden;
    if (itself != invalid_handle) ::close(itself);
  }
  return system_error(code);
}

inline result<native_handle> open_at(native_handle directory, const char* path, int flags,
                                     mode_t permissions) noexcept {
  const bool is_free = directory == anywhere;
  const native_handle handle =
      is_free ? open_retrying(path, flags, permissions) : openat2::call(directory, path, flags, permissions);
  if (handle != invalid_handle) return handle;
  return is_free ? last_error() : why_not_beneath(directory, errno);
}

inline result<native_handle> open_from(native_handle from, const char* path, int flags, mode_t permissions) noexcept {
  native_handle handle;
  do handle = ::openat(from, path, flags, permissions);
  while (handle < 0 && errno == EINTR);
  if (handle < 0) return last_error();
  return handle;
}

/// Opens a directory for paths to stay beneath. Fails if that cannot be enforced. The caller owns the handle.
inline result<native_handle> open_directory(path_view path) noexcept {
  const native_handle handle = open_retrying(path.c_str(), search_only, 0);
  if (handle == invalid_handle) return last_error();
  const auto itself = open_at(handle, ".", search_only);
  if (itself) {
    ::close(itself.value());
    return handle;
  }
  ::close(handle);
  return itself.error();
}

}  // namespace platform
QIO_END_NAMESPACE
