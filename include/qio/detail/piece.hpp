// SPDX-License-Identifier: BSL-1.0
// What one system call is asked to move, and what it answers: the language between transfers and the platform.
#pragma once

#include <qio/buffer.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>

namespace qio::detail {

/// What a system call answers, in io_uring's form on every system: bytes, or a negated system error.
using raw_result = std::int64_t;

/// The most that Linux moves in one call (MAX_RW_COUNT, read(2)); a multiple of every direct alignment.
inline constexpr std::size_t max_transfer_bytes = 0x7ffff000;
/// The most buffers that one vectored call takes (IOV_MAX, readv(2)).
inline constexpr std::size_t max_transfer_buffers = 1024;
/// The largest offset that a file can have (off_t is signed).
inline constexpr std::uint64_t max_offset = std::numeric_limits<std::int64_t>::max();

/// What to ask of the system now: either one buffer, or an array of them.
struct piece {
  std::uint64_t offset;
  const mutable_buffer* vector;  ///< null where `single` is to be used
  std::size_t vector_size;
  mutable_buffer single;
};

}  // namespace qio::detail
