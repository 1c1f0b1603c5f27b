// SPDX-License-Identifier: BSL-1.0
// Copying within the kernel: copy_file_range(2) of Linux and FreeBSD.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/extent.hpp>
#include <qio/system/posix/handle.hpp>

#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Copies a part of a range by one call, without memory of this process. The number of bytes, or an error.
inline detail::raw_result copy(native_handle from, const extent& what, native_handle to,
                               std::uint64_t to_offset) noexcept {
  auto read_at = static_cast<off_t>(what.offset), write_at = static_cast<off_t>(to_offset);
  constexpr std::uint64_t most = 1 << 30;
  const auto bytes = static_cast<std::size_t>(what.bytes < most ? what.bytes : most);
  ssize_t copied;
  do copied = ::copy_file_range(from, &read_at, to, &write_at, bytes, 0);
  while (copied < 0 && errno == EINTR);
  return copied < 0 ? -errno : copied;
}

}  // namespace platform
QIO_END_NAMESPACE
