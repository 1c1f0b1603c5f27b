// SPDX-License-Identifier: BSL-1.0
// Ranges of a file, and what the system reports about one or is asked to do with it.
#pragma once

#include <qio/configuration.hpp>

#include <cstdint>
#include <optional>

QIO_BEGIN_NAMESPACE

/// A range of a file, in bytes.
struct extent {
  std::uint64_t offset = 0;  ///< of its first byte
  std::uint64_t bytes = 0;   ///< its length

  /// Whether both are equal.
  friend bool operator==(const extent&, const extent&) = default;
};

/// A file from its beginning to its end, however long it is or gets.
inline constexpr extent whole_file{0, ~std::uint64_t(0) >> 1};

/// How much of a range is in the system's page cache: see basic_file::resident(). In bytes, of whole pages: one that
/// the range covers in part counts as a whole. What the system does not report has no value.
struct residency {
  std::uint64_t cached = 0;                       ///< in the cache, including what follows
  std::optional<std::uint64_t> dirty;             ///< modified, and still to be written back
  std::optional<std::uint64_t> writeback;         ///< being written back
  std::optional<std::uint64_t> evicted;           ///< not in the cache any more, but known to have been there
  std::optional<std::uint64_t> recently_evicted;  ///< that part of them which left because memory is short

  /// Whether all are equal.
  friend bool operator==(const residency&, const residency&) = default;
};

/// What allocate() does with the size of the file.
enum class allocation : std::uint8_t {
  extend,     ///< the file is at least as long as the range reaches, and reads as zeros there
  keep_size,  ///< the size stays; space behind the end is reserved for later writes
};

QIO_END_NAMESPACE
