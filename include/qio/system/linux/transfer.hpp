// SPDX-License-Identifier: BSL-1.0
// One read, write or sync by a system call.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

// Flags of preadv2(2), for C libraries that do not define them.
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008  // Linux 4.14
#endif
#ifndef RWF_DONTCACHE
#define RWF_DONTCACHE 0x00000080  // Linux 6.14
#endif
#ifndef RWF_DSYNC
#define RWF_DSYNC 0x00000002  // Linux 4.7
#endif
#ifndef RWF_ATOMIC
#define RWF_ATOMIC 0x00000040  // Linux 6.11; include/uapi/linux/fs.h
#endif

QIO_BEGIN_NAMESPACE
namespace platform {

static_assert(sizeof(mutable_buffer) == sizeof(iovec) && offsetof(mutable_buffer, data) == offsetof(iovec, iov_base) &&
                  offsetof(mutable_buffer, size) == offsetof(iovec, iov_len),
              "arrays of buffers are passed to the kernel as they are");

inline const iovec* as_iovec(detail::buffer_array buffers) noexcept {
  return static_cast<const iovec*>(buffers.data());
}

inline detail::raw_result answer(ssize_t returned) noexcept { return returned < 0 ? -errno : returned; }

/// Options of a transfer: RWF_... of preadv2(2).
using transfer_flags = int;
inline constexpr transfer_flags drop_pages = RWF_DONTCACHE;
inline constexpr transfer_flags durable = RWF_DSYNC;  ///< of a write: see write_options::durable
inline constexpr transfer_flags untorn = RWF_ATOMIC;  ///< of a write: see write_options::untorn

inline detail::raw_result read_by_flags(native_handle handle, const detail::piece& piece,
                                        transfer_flags flags) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector_size != 0)
    return answer(::preadv2(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset, flags));
  const iovec single{piece.single.data, piece.single.size};
  return answer(::preadv2(handle, &single, 1, offset, flags));
}

inline detail::raw_result write_by_flags(native_handle handle, const detail::piece& piece,
                                         transfer_flags flags) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector_size != 0)
    return answer(::pwritev2(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset, flags));
  const iovec single{piece.single.data, piece.single.size};
  return answer(::pwritev2(handle, &single, 1, offset, flags));
}

inline detail::raw_result read_some(native_handle handle, const detail::piece& piece, transfer_flags flags) noexcept {
  if (flags != 0) return read_by_flags(handle, piece, flags);
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector_size == 0) return answer(::pread(handle, piece.single.data, piece.single.size, offset));
  return answer(::preadv(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
}

inline detail::raw_result write_then_sync(native_handle handle, const detail::piece& piece,
                                          transfer_flags flags) noexcept;

/// A kernel before 4.7 and a sandbox refuse pwritev2(2), or its flag. EINVAL and EPERM have other reasons as well: then
/// the write without the flag fails for the same one.
inline bool may_refuse_durable(detail::raw_result answer) noexcept {
  return answer == -EOPNOTSUPP || answer == -ENOSYS || answer == -EINVAL || answer == -EPERM;
}

inline detail::raw_result write_some(native_handle handle, const detail::piece& piece, transfer_flags flags) noexcept {
  if (flags != 0) {
    const detail::raw_result written = write_by_flags(handle, piece, flags);
    if ((flags & durable) == 0 || !may_refuse_durable(written)) [[likely]]
      return written;
    return write_then_sync(handle, piece, flags & ~durable);
  }
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector_size == 0) return answer(::pwrite(handle, piece.single.data, piece.single.size, offset));
  return answer(::pwritev(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
}

/// A durable write in two calls.
[[gnu::cold]] inline detail::raw_result write_then_sync(native_handle handle, const detail::piece& piece,
                                                        transfer_flags flags) noexcept {
  const detail::raw_result written = write_some(handle, piece, flags);
  if (written <= 0) return written;
  while (::fdatasync(handle) != 0)
    if (errno != EINTR) return -errno;
  return written;
}

/// A device that is not a block device has the size that fstat(2) reports.
inline result<std::uint64_t> size_of_device(native_handle handle, const struct stat& status) noexcept {
  const off_t end = S_ISBLK(status.st_mode) ? ::lseek(handle, 0, SEEK_END) : status.st_size;
  if (end < 0) return last_error();
  return static_cast<std::uint64_t>(end);
}

inline result<void> sync(native_handle handle, sync_kind kind) noexcept {
  // fdatasync(2) writes the size with the contents and flushes the device's cache. No cheaper call makes contents
  // durable (sync_file_range(2) does not flush that cache), so the two lesser kinds are the same here.
  const auto call = kind == sync_kind::everything ? &::fsync : &::fdatasync;
  while (call(handle) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

inline constexpr bool has_writeback = true;

/// Begins to write back the pages of a range that are not being written yet; 0, or the error. Reports no error of the
/// writing itself, so the next sync does.
inline detail::raw_result start_writeback(native_handle handle, std::uint64_t offset, std::size_t bytes) noexcept {
  return answer(
      ::sync_file_range(handle, static_cast<off_t>(offset), static_cast<off_t>(bytes), SYNC_FILE_RANGE_WRITE));
}

/// Reads what is in the page cache. Returns -EAGAIN if it would have to wait for a device (which has then already been
/// asked for the data), and -EOPNOTSUPP if the file system does not support this.
inline detail::raw_result read_without_waiting(native_handle handle, const detail::piece& piece) noexcept {
  return read_by_flags(handle, piece, RWF_NOWAIT);
}

/// Writes into the page cache. Returns -EAGAIN if it would have to wait, and -EOPNOTSUPP if the file system does not
/// support this.
inline detail::raw_result write_without_waiting(native_handle handle, const detail::piece& piece,
                                                transfer_flags flags) noexcept {
  return write_by_flags(handle, piece, flags | RWF_NOWAIT);
}

/// Whether the file, which must be open for reading, accepts these flags. Tries them on a read past the end of any
/// file, which transfers nothing.
inline bool takes_flags(native_handle handle, transfer_flags flags) noexcept {
  char byte;
  const iovec single{&byte, 1};
  return ::preadv2(handle, &single, 1, static_cast<off_t>(detail::max_offset - 4095), flags) >= 0;
}

}  // namespace platform
QIO_END_NAMESPACE
