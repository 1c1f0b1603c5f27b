// SPDX-License-Identifier: BSL-1.0
// Opening by a path that must not lead out of a directory.
#pragma once

#include <qio/detail/linux/kernel.hpp>
#include <qio/detail/posix/handle.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace qio::platform {

namespace openat2 {
// include/uapi/linux/openat2.h, which older headers lack. One number on all architectures (but alpha).
inline constexpr long number = 437;
inline constexpr std::uint64_t no_magic_links = 0x02, stay_beneath = 0x08;
struct how {
  std::uint64_t flags, mode, resolve;
};

/// The kernel walks the path: what others rename or link meanwhile leads nowhere else. It gives up (EAGAIN) when
/// something was moved while it followed a "..", which somebody could do for ever.
inline native_handle call(native_handle directory, const char* path, int flags, mode_t permissions) noexcept {
  constexpr int most_attempts = 100;
  const bool creates = (flags & O_CREAT) != 0;  // else the kernel insists on no permissions
  const how asked{static_cast<std::uint64_t>(flags), creates ? permissions & 07777u : 0u,
                  stay_beneath | no_magic_links};
  long answer;
  int attempts = 0;
  do answer = ::syscall(number, directory, path, &asked, sizeof asked);
  while (answer < 0 && (errno == EINTR || (errno == EAGAIN && ++attempts < most_attempts)));
  return static_cast<native_handle>(answer);
}
}  // namespace openat2

/// Nothing but a search: what the call is asked to see whether it may be made.
inline constexpr int search_only = O_PATH | O_DIRECTORY | O_CLOEXEC;

/// Why openat2 has refused: a filter that hides or forbids it looks like an old kernel, or like a file that must not be
/// changed.
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

/// Opens `path`, which must stay beneath `directory` or may lead `anywhere`.
inline result<native_handle> open_at(native_handle directory, const char* path, int flags,
                                     mode_t permissions = 0) noexcept {
  const bool is_free = directory == anywhere;
  const native_handle handle =
      is_free ? open_retrying(path, flags, permissions) : openat2::call(directory, path, flags, permissions);
  if (handle != invalid_handle) return handle;
  return is_free ? last_error() : why_not_beneath(directory, errno);
}

/// A directory for others to stay beneath; refused where that could not be had.
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

}  // namespace qio::platform
