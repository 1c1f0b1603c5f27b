// SPDX-License-Identifier: BSL-1.0
// Which reads of a batch one transfer serves.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/loop/batch.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <system_error>

namespace qio::inline QIO_CONFIGURATION::detail {

inline bool is_misaligned(const error& failure) noexcept {
  return failure == errc::misaligned_offset || failure == errc::misaligned_length || failure == errc::misaligned_buffer;
}

/// A file's blocks and the slots of a pool, in bytes.
struct bounce_sizes {
  std::uint64_t block = 1;   ///< what transfers are widened to multiples of; a power of two
  std::uint64_t usable = 0;  ///< of a slot: a multiple of the block; 0 if no block fits
  std::uint64_t gap = 0;     ///< between reads that are merged

  bounce_sizes() noexcept = default;
  bounce_sizes(std::uint32_t block_of_file, std::size_t slot_bytes, std::uint64_t most_between = 0) noexcept
      : block(block_of_file), usable(slot_bytes & ~(block - 1)), gap(most_between) {}

  std::uint64_t down(std::uint64_t offset) const noexcept { return offset & ~(block - 1); }
  std::uint64_t up(std::uint64_t offset) const noexcept { return down(offset + (block - 1)); }
};

inline error no_room() noexcept { return std::make_error_code(std::errc::no_buffer_space); }

inline std::uint64_t end_of(const transfer& io) noexcept { return io.offset() + io.total(); }

/// Reads that one transfer serves: those from `first` to before `end` that `may_join`.
struct bounce_group {
  std::uint64_t start;  ///< widened to blocks
  std::uint64_t bytes;
  std::size_t count;
  batch_part* end;
};

/// The longest group that begins with `first` and fits into a slot. A single read may be longer than a slot. Parts are
/// in the order of their offsets.
template <class MayJoin>
bounce_group group_from(const batch_part& first, const bounce_sizes& sizes, MayJoin&& may_join) noexcept {
  const std::uint64_t start = sizes.down(first.io.offset());
  std::uint64_t end = sizes.up(end_of(first.io));
  std::size_t count = 1;
  batch_part* behind = first.following;
  for (batch_part* each = behind; each != nullptr; each = each->following) {
    const std::uint64_t begins = sizes.down(each->io.offset());
    if (begins > end && begins - end > sizes.gap) break;
    if (!may_join(*each)) continue;
    const std::uint64_t joined = greater_of(end, sizes.up(end_of(each->io)));
    if (joined - start > sizes.usable) break;
    end = joined;
    behind = each->following;
    ++count;
  }
  return {start, end - start, count, behind};
}

/// Copies what `io` still lacks from a transfer that has read `bytes` bytes from `start` on into `memory`. Returns how
/// much that was.
inline std::size_t copy_out(transfer& io, const std::byte* memory, std::uint64_t start, std::size_t bytes) noexcept {
  const std::uint64_t from = io.next_offset(), end = start + bytes;
  if (io.transferred() == io.total() || from < start || from >= end) return 0;
  const mutable_buffer into = io.rest_of_buffer();
  const auto count = static_cast<std::size_t>(lesser_of<std::uint64_t>(end - from, into.size));
  std::memcpy(into.data, memory + (from - start), count);
  error none;
  static_cast<void>(io.after_read(static_cast<raw_result>(count), 1, none));
  return count;
}

/// The error of a request of which `moved` bytes were moved before its transfer failed.
inline error error_of_part(const error& failure, std::size_t moved) noexcept {
  if (moved == 0 && failure.transferred() == 0) return failure;
  return error::of_transfer(failure.code(), moved);
}

}  // namespace qio::inline QIO_CONFIGURATION::detail
