// SPDX-License-Identifier: BSL-1.0
// What one system call transfers, and its result: the interface between transfers and the platform.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

namespace qio::inline QIO_CONFIGURATION::detail {

/// The result of a system call, in io_uring's form on every system: a number of bytes, or a negated system error.
using raw_result = std::int64_t;

/// The most bytes that Linux transfers in one call (MAX_RW_COUNT, read(2)); a multiple of every direct alignment.
inline constexpr std::size_t max_transfer_bytes = 0x7ffff000;
/// The most buffers in one vectored call (IOV_MAX, readv(2)).
inline constexpr std::size_t max_transfer_buffers = 1024;
/// The largest offset in a file, in bytes (off_t is signed).
inline constexpr std::uint64_t max_offset = (std::numeric_limits<std::int64_t>::max)();

/// A borrowed array of mutable_buffer or, for a write, of const_buffer; both have the layout of POSIX's iovec. Elements
/// are read as copies, because an object of one type must not be accessed as an object of the other.
class buffer_array {
 public:
  constexpr buffer_array(std::nullptr_t = nullptr) noexcept {}
  buffer_array(const mutable_buffer* first) noexcept : first_(first) {}
  buffer_array(const const_buffer* first) noexcept : first_(first) {}

  const void* data() const noexcept { return first_; }
  mutable_buffer operator[](std::size_t index) const noexcept {
    mutable_buffer copy;
    std::memcpy(&copy, static_cast<const std::byte*>(first_) + index * sizeof copy, sizeof copy);
    return copy;
  }
  void skip(std::size_t count) noexcept {
    first_ = static_cast<const std::byte*>(first_) + count * sizeof(mutable_buffer);
  }
  friend bool operator==(const buffer_array&, const buffer_array&) = default;

 private:
  const void* first_ = nullptr;
};

static_assert(sizeof(const_buffer) == sizeof(mutable_buffer) &&
              offsetof(const_buffer, data) == offsetof(mutable_buffer, data) &&
              offsetof(const_buffer, size) == offsetof(mutable_buffer, size));

/// The buffers of a vectored transfer. Borrowed.
struct buffer_list {
  buffer_list(std::span<const mutable_buffer> buffers) noexcept : first(buffers.data()), count(buffers.size()) {}
  buffer_list(std::span<const const_buffer> buffers) noexcept : first(buffers.data()), count(buffers.size()) {}

  struct iterator {
    buffer_array rest;
    mutable_buffer operator*() const noexcept { return rest[0]; }
    iterator& operator++() noexcept {
      rest.skip(1);
      return *this;
    }
    friend bool operator==(const iterator&, const iterator&) = default;
  };
  iterator begin() const noexcept { return {first}; }
  iterator end() const noexcept {
    iterator last{first};
    last.rest.skip(count);
    return last;
  }

  buffer_array first;
  std::size_t count;
};

/// The next request to the system: one buffer, or an array of buffers.
struct piece {
  std::uint64_t offset;
  buffer_array vector;  ///< null if `single` is used instead
  std::size_t vector_size;
  mutable_buffer single;
};

}  // namespace qio::inline QIO_CONFIGURATION::detail
