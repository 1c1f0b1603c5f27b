// SPDX-License-Identifier: BSL-1.0
// The space of a file on FreeBSD.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Reserving and giving back: of a range that is not empty and ends within the largest file ---

/// posix_fallocate(2), which extends the file, and returns its error: EINVAL where the file system lacks it (ZFS).
inline result<void> allocate(native_handle handle, std::uint64_t offset, std::uint64_t bytes, allocation how) noexcept {
  if (how == allocation::keep_size) return system_error(EOPNOTSUPP);
  int code;
  do code = ::posix_fallocate(handle, static_cast<off_t>(offset), static_cast<off_t>(bytes));
  while (code == EINTR);
  if (code == 0) return success();
  return system_error(code == EINVAL ? EOPNOTSUPP : code);
}

/// The range becomes a hole (fspacectl(2), FreeBSD 14).
inline result<void> discard(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
#if defined(SPACECTL_DEALLOC)
  struct spacectl_range left {
    static_cast<off_t>(offset), static_cast<off_t>(bytes)
  };
  while (left.r_len > 0)
    if (::fspacectl(handle, SPACECTL_DEALLOC, &left, 0, &left) != 0 && errno != EINTR)
      return system_error(errno == ENOSYS ? EOPNOTSUPP : errno);
  return success();
#else
  static_cast<void>(handle), static_cast<void>(offset), static_cast<void>(bytes);
  return system_error(EOPNOTSUPP);
#endif
}

/// FreeBSD has no call that makes a range zeros and keeps its space.
inline result<void> zero(native_handle, std::uint64_t, std::uint64_t) noexcept { return system_error(EOPNOTSUPP); }

// --- Copying within the file system ---

inline std::uint64_t clone_unit(native_handle handle) noexcept {
  struct statfs system;
  return ::fstatfs(handle, &system) == 0 ? system.f_bsize : 0;
}

/// FreeBSD shares blocks within copy_file_range(2), if it wants to, and has no call that fails otherwise.
inline result<void> clone(native_handle, const extent&, native_handle, std::uint64_t) noexcept {
  return system_error(EOPNOTSUPP);
}

}  // namespace platform
QIO_END_NAMESPACE
