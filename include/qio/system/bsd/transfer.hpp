// SPDX-License-Identifier: BSL-1.0
// One read or write by a system call.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>

#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

static_assert(sizeof(mutable_buffer) == sizeof(iovec) && offsetof(mutable_buffer, data) == offsetof(iovec, iov_base) &&
                  offsetof(mutable_buffer, size) == offsetof(iovec, iov_len),
              "arrays of buffers are passed to the kernel as they are");

inline const iovec* as_iovec(detail::buffer_array buffers) noexcept {
  return static_cast<const iovec*>(buffers.data());
}

inline detail::raw_result answer(ssize_t returned) noexcept { return returned < 0 ? -errno : returned; }

/// Options of a transfer. Neither system has any.
using transfer_flags = int;
inline constexpr transfer_flags drop_pages = 1;
inline constexpr transfer_flags durable = 2;  ///< of a write: see write_options::durable
inline constexpr transfer_flags untorn = 4;   ///< of a write: see write_options::untorn; no file has such writes

/// Whether the file accepts these flags. Always false.
inline bool takes_flags(native_handle, transfer_flags) noexcept { return false; }

inline detail::raw_result read_some(native_handle handle, const detail::piece& piece, transfer_flags) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector_size == 0) return answer(::pread(handle, piece.single.data, piece.single.size, offset));
  return answer(::preadv(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
}

/// A durable write is a write and a sync of its contents.
inline detail::raw_result write_some(native_handle handle, const detail::piece& piece, transfer_flags flags) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  const detail::raw_result written =
      piece.vector_size == 0
          ? answer(::pwrite(handle, piece.single.data, piece.single.size, offset))
          : answer(::pwritev(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
  if ((flags & durable) == 0 || written <= 0) return written;
  const auto synced = sync(handle, sync_kind::data_and_size);
  return synced ? written : -static_cast<detail::raw_result>(synced.error().code().value());
}

inline constexpr bool has_writeback = false;

/// Always fails: the system decides alone when it writes back, until it is asked to wait for it.
inline detail::raw_result start_writeback(native_handle, std::uint64_t, std::size_t) noexcept { return -EOPNOTSUPP; }

/// Always fails: neither system has a transfer of a file that fails instead of waiting.
inline detail::raw_result read_without_waiting(native_handle, const detail::piece&) noexcept { return -EOPNOTSUPP; }
inline detail::raw_result write_without_waiting(native_handle, const detail::piece&, transfer_flags) noexcept {
  return -EOPNOTSUPP;
}

}  // namespace platform
QIO_END_NAMESPACE
