// SPDX-License-Identifier: BSL-1.0
// The space of a file on macOS.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/darwin/sync.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/param.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// The error of a call that a file system may lack.
inline error error_of_space() noexcept { return system_error(code_of_unsupported(errno)); }

// --- Reserving and giving back: of a range that is not empty and ends within the largest file ---

/// Whether a part of the file before `end` has no space: a hole. Nothing if the file system has no holes.
inline bool has_hole(native_handle handle, std::uint64_t offset, std::uint64_t end) noexcept {
  const off_t hole = ::lseek(handle, static_cast<off_t>(offset), SEEK_HOLE);
  return hole >= 0 && static_cast<std::uint64_t>(hole) < end;
}

/// F_PREALLOCATE reserves space behind the physical end of the file only (fcntl(2)), all of it or none. So what lies in
/// the file must have its space already. Space that was reserved behind the end before is not taken into account.
inline result<void> allocate(native_handle handle, std::uint64_t offset, std::uint64_t bytes, allocation how) noexcept {
  const auto now = size(handle);
  if (!now) return now.error();
  const std::uint64_t end = offset + bytes;
  if (offset < now.value() && has_hole(handle, offset, detail::lesser_of(end, now.value())))
    return system_error(EOPNOTSUPP);
  if (end <= now.value()) return success();
  fstore_t reserved{};
  reserved.fst_flags = F_ALLOCATEALL | F_ALLOCATEPERSIST;
  reserved.fst_posmode = F_PEOFPOSMODE;
  reserved.fst_length = static_cast<off_t>(end - now.value());
  while (::fcntl(handle, F_PREALLOCATE, &reserved) < 0)
    if (errno != EINTR) return error_of_space();
  return how == allocation::extend ? resize(handle, end) : result<void>(success());
}

/// What the file system gives back space by, in bytes; 0 if unknown.
inline std::uint64_t clone_unit(native_handle handle) noexcept {
  struct statfs system;
  return ::fstatfs(handle, &system) == 0 ? system.f_bsize : 0;
}

/// Writes zeros to a range within the file.
inline result<void> write_zeros(native_handle handle, std::uint64_t begin, std::uint64_t end) noexcept {
  static constexpr std::byte zeros[4096]{};
  while (begin < end) {
    const auto bytes = static_cast<std::size_t>(detail::lesser_of<std::uint64_t>(end - begin, sizeof zeros));
    const ssize_t written = ::pwrite(handle, zeros, bytes, static_cast<off_t>(begin));
    if (written < 0 && errno != EINTR) return last_error();
    if (written > 0) begin += static_cast<std::uint64_t>(written);
  }
  return success();
}

/// The range becomes a hole: its whole blocks by F_PUNCHHOLE, which takes no others (fcntl(2)). The parts of blocks at
/// its ends become zeros.
inline result<void> discard(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  const auto now = size(handle);
  if (!now) return now.error();
  const std::uint64_t end = detail::lesser_of(offset + bytes, now.value()), block = clone_unit(handle);
  if (offset >= end) return success();
  if (block == 0) return system_error(EOPNOTSUPP);
  const std::uint64_t first = (offset + block - 1) / block * block, last = end / block * block;
  if (first < last) {
    fpunchhole_t hole{};
    hole.fp_offset = static_cast<off_t>(first);
    hole.fp_length = static_cast<off_t>(last - first);
    while (::fcntl(handle, F_PUNCHHOLE, &hole) < 0)
      if (errno != EINTR) return error_of_space();
  }
  if (auto zeroed = write_zeros(handle, offset, detail::lesser_of(first, end)); !zeroed) return zeroed;
  return write_zeros(handle, detail::greater_of(first, last), end);
}

/// macOS has no call that makes a range zeros and keeps its space.
inline result<void> zero(native_handle, std::uint64_t, std::uint64_t) noexcept { return system_error(EOPNOTSUPP); }

// --- Copying within the file system ---

/// macOS shares the space of whole files only, under a new name (clonefile(2)), and copies no range of an open file.
inline result<void> clone(native_handle, const extent&, native_handle, std::uint64_t) noexcept {
  return system_error(EOPNOTSUPP);
}
inline detail::raw_result copy(native_handle, const extent&, native_handle, std::uint64_t) noexcept {
  return -EOPNOTSUPP;
}

}  // namespace platform
QIO_END_NAMESPACE
