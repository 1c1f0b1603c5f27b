// SPDX-License-Identifier: BSL-1.0
// One read or write by a system call.
#pragma once

#include <qio/detail/posix/handle.hpp>
#include <qio/detail/transfer.hpp>

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

// Linux 4.14, preadv2(2). The kernel's number, for C libraries that do not name it.
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

namespace qio::platform {

static_assert(sizeof(mutable_buffer) == sizeof(iovec) && offsetof(mutable_buffer, data) == offsetof(iovec, iov_base) &&
                  offsetof(mutable_buffer, size) == offsetof(iovec, iov_len),
              "arrays of buffers are passed to the kernel as they are");

inline const iovec* as_iovec(const mutable_buffer* buffers) noexcept { return reinterpret_cast<const iovec*>(buffers); }

inline detail::raw_result answer(ssize_t returned) noexcept { return returned < 0 ? -errno : returned; }

inline detail::raw_result read_some(native_handle handle, const detail::transfer::piece& piece) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector == nullptr) return answer(::pread(handle, piece.single.data, piece.single.size, offset));
  return answer(::preadv(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
}

inline detail::raw_result write_some(native_handle handle, const detail::transfer::piece& piece) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector == nullptr) return answer(::pwrite(handle, piece.single.data, piece.single.size, offset));
  return answer(::pwritev(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset));
}

/// Reads what is in the page cache; -EAGAIN where the call would have had to wait for a device (which it has then
/// asked already), -EOPNOTSUPP where the file system cannot tell.
inline detail::raw_result read_without_waiting(native_handle handle, const detail::transfer::piece& piece) noexcept {
  const auto offset = static_cast<off_t>(piece.offset);
  if (piece.vector != nullptr)
    return answer(::preadv2(handle, as_iovec(piece.vector), static_cast<int>(piece.vector_size), offset, RWF_NOWAIT));
  const iovec single{piece.single.data, piece.single.size};
  return answer(::preadv2(handle, &single, 1, offset, RWF_NOWAIT));
}

}  // namespace qio::platform
