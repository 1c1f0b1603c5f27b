// SPDX-License-Identifier: BSL-1.0
// What the calls of Linux, macOS and FreeBSD that transfer have in common.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>

#include <sys/types.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>

QIO_BEGIN_NAMESPACE
namespace platform {

static_assert(sizeof(mutable_buffer) == sizeof(iovec) && offsetof(mutable_buffer, data) == offsetof(iovec, iov_base) &&
                  offsetof(mutable_buffer, size) == offsetof(iovec, iov_len),
              "arrays of buffers are passed to the kernel as they are");

inline const iovec* as_iovec(detail::buffer_array buffers) noexcept {
  return static_cast<const iovec*>(buffers.data());
}

inline detail::raw_result answer(ssize_t returned) noexcept { return returned < 0 ? -errno : returned; }

}  // namespace platform
QIO_END_NAMESPACE
