// SPDX-License-Identifier: BSL-1.0
// Making what was written durable, and the facts of devices, on macOS.
#pragma once

#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/bsd/transfer.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The system has two numbers for what it does not support. Programs compare with the one that std::errc has as
/// operation_not_supported.
inline int code_of_unsupported(int code) noexcept { return code == ENOTSUP || code == ENOTTY ? EOPNOTSUPP : code; }

/// fcntl(2) promises of F_FULLFSYNC alone that contents are in the device, so one follows each durable write.
inline bool writes_reach_device() noexcept { return false; }

/// fcntl(2): F_FULLFSYNC writes the file as fsync(2) does, and then has the device empty its cache; nothing less makes
/// contents durable, so all kinds are the same. File systems that lack it, such as network shares, get F_BARRIERFSYNC,
/// which orders writes within the device, or fsync(2): there, what is durable is up to the device or the server.
inline result<void> sync(native_handle handle, sync_kind) noexcept {
  for (const int command : {F_FULLFSYNC, F_BARRIERFSYNC}) {
    int answer;
    do answer = ::fcntl(handle, command);
    while (answer < 0 && errno == EINTR);
    if (answer >= 0) return success();
    if (code_of_unsupported(errno) != EOPNOTSUPP && errno != EINVAL) return last_error();
  }
  while (::fsync(handle) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

// From sys/disk.h, which headers for cross-compiling lack.
inline constexpr unsigned long disk_block_size = _IOR('d', 24, std::uint32_t);   // DKIOCGETBLOCKSIZE
inline constexpr unsigned long disk_block_count = _IOR('d', 25, std::uint64_t);  // DKIOCGETBLOCKCOUNT

inline std::uint32_t sector_of_device(native_handle handle) noexcept {
  std::uint32_t bytes = 0;
  return ::ioctl(handle, disk_block_size, &bytes) == 0 ? bytes : 0;
}

/// A device that is not a disk has the size that fstat(2) reports.
inline result<std::uint64_t> size_of_device(native_handle handle, const struct stat& status) noexcept {
  std::uint64_t sectors = 0;
  const std::uint32_t bytes = S_ISBLK(status.st_mode) || S_ISCHR(status.st_mode) ? sector_of_device(handle) : 0;
  if (bytes == 0 || ::ioctl(handle, disk_block_count, &sectors) != 0) return static_cast<std::uint64_t>(status.st_size);
  return sectors * bytes;
}

/// fcntl(2) says of F_NOCACHE that it "turns data caching off", and no more.
inline void ask_to_avoid_cache(native_handle handle) noexcept { ::fcntl(handle, F_NOCACHE, 1); }

}  // namespace platform
QIO_END_NAMESPACE
