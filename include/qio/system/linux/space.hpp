// SPDX-License-Identifier: BSL-1.0
// The space of a file.
#pragma once

#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/file_system.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <system_error>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- Reserving and giving back: of a range that is not empty and ends within the largest file ---

// From linux/falloc.h, for C libraries that lack them.
inline constexpr int fallocate_keep_size = 0x01;   // FALLOC_FL_KEEP_SIZE
inline constexpr int fallocate_punch_hole = 0x02;  // FALLOC_FL_PUNCH_HOLE
inline constexpr int fallocate_zero_range = 0x10;  // FALLOC_FL_ZERO_RANGE

/// fallocate(2).
inline result<void> change_space(native_handle handle, int mode, std::uint64_t offset, std::uint64_t bytes) noexcept {
  while (::fallocate(handle, mode, static_cast<off_t>(offset), static_cast<off_t>(bytes)) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

/// Whether it is in a tmpfs, where a second fallocate(2) fills what the first one has reserved with zeros, which then
/// are data (mm/shmem.c, shmem_fallocate()). It changes nothing if it fails, so one call is enough.
inline bool is_in_tmpfs(native_handle handle) noexcept {
  struct statfs system;
  return ::fstatfs(handle, &system) == 0 && type_of(system) == file_system_type::tmpfs;
}

/// Extends the file when the space is reserved. On a full disk, ext4 otherwise extends it as far as there is space, and
/// then fails. NFS can only do both at once.
inline result<void> allocate(native_handle handle, std::uint64_t offset, std::uint64_t bytes, allocation how) noexcept {
  if (how == allocation::extend && is_in_tmpfs(handle)) return change_space(handle, 0, offset, bytes);
  auto reserved = change_space(handle, fallocate_keep_size, offset, bytes);
  if (how == allocation::keep_size) return reserved;
  if (!reserved && reserved.error() != std::errc::operation_not_supported) return reserved;
  return change_space(handle, 0, offset, bytes);
}

/// The range becomes a hole.
inline result<void> discard(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return change_space(handle, fallocate_punch_hole | fallocate_keep_size, offset, bytes);
}

/// The range reads as zeros, and its space is reserved.
inline result<void> zero(native_handle handle, std::uint64_t offset, std::uint64_t bytes) noexcept {
  return change_space(handle, fallocate_zero_range | fallocate_keep_size, offset, bytes);
}

// --- Copying within the file system ---

/// What offsets and lengths of a clone must be multiples of; 0 if unknown.
inline std::uint64_t clone_unit(native_handle handle) noexcept {
  struct statfs system;
  return ::fstatfs(handle, &system) == 0 && system.f_bsize > 0 ? static_cast<std::uint64_t>(system.f_bsize) : 0;
}

/// Makes a range of `to` share the space of a range of `from`, which is within that file and not empty.
inline result<void> clone(native_handle from, const extent& what, native_handle to, std::uint64_t to_offset) noexcept {
  struct {  // struct file_clone_range (linux/fs.h)
    std::int64_t from;
    std::uint64_t offset, bytes, to_offset;
  } range{from, what.offset, what.bytes, to_offset};
  constexpr unsigned long clone_range = _IOW(0x94, 13, range);  // FICLONERANGE
  while (::ioctl(to, clone_range, &range) != 0)
    if (errno != EINTR) return system_error(errno == ENOTTY ? EOPNOTSUPP : errno);
  return success();
}

}  // namespace platform
QIO_END_NAMESPACE
