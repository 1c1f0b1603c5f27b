// SPDX-License-Identifier: BSL-1.0
// Making what was written durable, and the facts of devices, on FreeBSD.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/transfer.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/disk.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

inline bool writes_reach_device() noexcept { return true; }

/// fdatasync(2) writes the size with the contents, so the two lesser kinds are the same.
inline result<void> sync(native_handle handle, sync_kind kind) noexcept {
  const auto call = kind == sync_kind::everything ? &::fsync : &::fdatasync;
  while (call(handle) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

inline std::uint32_t sector_of_device(native_handle handle) noexcept {
  unsigned bytes = 0;
  return ::ioctl(handle, DIOCGSECTORSIZE, &bytes) == 0 ? bytes : 0;
}

/// Disks are character devices. A device that is not a disk has the size that fstat(2) reports.
inline result<std::uint64_t> size_of_device(native_handle handle, const struct stat& status) noexcept {
  off_t bytes = 0;
  if (!S_ISCHR(status.st_mode) || ::ioctl(handle, DIOCGMEDIASIZE, &bytes) != 0)
    return static_cast<std::uint64_t>(status.st_size);
  return static_cast<std::uint64_t>(bytes);
}

/// open(2) says of O_DIRECT that the system "will attempt to avoid caching".
inline void ask_to_avoid_cache(native_handle handle) noexcept {
  const int flags = ::fcntl(handle, F_GETFL);
  if (flags >= 0) ::fcntl(handle, F_SETFL, flags | O_DIRECT);
}

}  // namespace platform
QIO_END_NAMESPACE
