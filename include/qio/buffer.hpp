// SPDX-License-Identifier: BSL-1.0
// Memory for transfers: borrowed (mutable_buffer, const_buffer) and owned (aligned_buffer).
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/result.hpp>

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

QIO_BEGIN_NAMESPACE

/// The pages that a buffer_pool's memory consists of.
enum class huge_pages : std::uint8_t {
  never,  ///< ordinary ones
  /// Huge ones where the system gives them, else ordinary ones. They make the kernel's pinning of direct transfers, and
  /// the processor's address translation, cheaper. Linux: transparent huge pages (madvise(2), MADV_HUGEPAGE). Windows:
  /// large pages, if the process has SeLockMemoryPrivilege. The size is rounded up to a multiple of 2 MiB.
  preferred,
  /// Huge ones, or allocate() fails. Linux: reserved ones (MAP_HUGETLB; /proc/sys/vm/nr_hugepages). Windows: large
  /// pages.
  required,
};

/// Memory that a vectored read fills: an address and a length in bytes. Borrowed: the memory must outlive the transfer.
/// Has the layout of POSIX's iovec, so that arrays are passed to the kernel without copying.
struct mutable_buffer {
  void* data = nullptr;  ///< its first byte
  std::size_t size = 0;  ///< bytes

  constexpr mutable_buffer() noexcept = default;
  /// The `bytes` bytes from `memory` on.
  constexpr mutable_buffer(void* memory, std::size_t bytes) noexcept : data(memory), size(bytes) {}
  /// The same, from a span.
  constexpr mutable_buffer(std::span<std::byte> bytes) noexcept : data(bytes.data()), size(bytes.size()) {}
};

/// The same for memory that a vectored write sends.
struct const_buffer {
  const void* data = nullptr;  ///< its first byte
  std::size_t size = 0;        ///< bytes

  constexpr const_buffer() noexcept = default;
  /// The `bytes` bytes from `memory` on.
  constexpr const_buffer(const void* memory, std::size_t bytes) noexcept : data(memory), size(bytes) {}
  /// The same, from a span.
  constexpr const_buffer(std::span<const std::byte> bytes) noexcept : data(bytes.data()), size(bytes.size()) {}
  /// The same, from a span of writable memory.
  constexpr const_buffer(std::span<std::byte> bytes) noexcept : data(bytes.data()), size(bytes.size()) {}
};

/// The default alignment of aligned_buffer, in bytes. It suits direct I/O on devices with blocks of up to 4096 bytes. A
/// file often needs less: see file.alignment(). It is not the page size, which may also be 16 or 64 KiB on ARM64.
inline constexpr std::size_t default_buffer_alignment = 4096;

/// Owned, uninitialized memory whose address and size suit direct I/O. Converts to a span of bytes, so it can be passed
/// to transfers directly. Movable, not copyable. It has no default constructor: initialize a member from allocate().
///
///     auto block = qio::aligned_buffer::allocate(64 * 1024).value();
///     file.read_at(0, block).value();                   // fills all of it
///     file.write_at(0, block.view(0, 4096)).value();    // writes a part of it
class aligned_buffer {
 public:
  /// Allocates `bytes` bytes, rounded up to a multiple of `alignment`, at a multiple of `alignment`. Fails with
  /// errc::invalid_alignment unless `alignment` is a power of two, and with std::errc::not_enough_memory.
  static result<aligned_buffer> allocate(std::size_t bytes, std::size_t alignment = default_buffer_alignment) noexcept {
    if (!std::has_single_bit(alignment)) return error(errc::invalid_alignment, alignment, 0);
    const std::size_t rounded = (bytes + (alignment - 1)) & ~(alignment - 1);
    if (rounded < bytes) return error(std::make_error_code(std::errc::not_enough_memory));
    void* const memory = ::operator new(rounded, std::align_val_t(alignment), std::nothrow);
    if (memory == nullptr) return error(std::make_error_code(std::errc::not_enough_memory));
    return aligned_buffer(static_cast<std::byte*>(memory), rounded, alignment);
  }

  /// Takes over the memory, and leaves `other` empty.
  aligned_buffer(aligned_buffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        alignment_(other.alignment_) {}
  /// The same; frees the memory that this object owned.
  aligned_buffer& operator=(aligned_buffer&& other) noexcept {
    aligned_buffer taken(std::move(other));
    std::swap(data_, taken.data_);
    std::swap(size_, taken.size_);
    std::swap(alignment_, taken.alignment_);
    return *this;
  }
  ~aligned_buffer() {
    if (data_ != nullptr) ::operator delete(data_, std::align_val_t(alignment_));
  }

  /// The first byte.
  std::byte* data() noexcept { return data_; }
  /// The first byte.
  const std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }            ///< bytes; a multiple of alignment()
  std::size_t alignment() const noexcept { return alignment_; }  ///< bytes, as requested

  /// Its bytes, for range-based loops and std::span.
  std::byte* begin() noexcept { return data_; }
  /// The end of its bytes.
  std::byte* end() noexcept { return data_ + size_; }
  /// Its bytes, for range-based loops and std::span.
  const std::byte* begin() const noexcept { return data_; }
  /// The end of its bytes.
  const std::byte* end() const noexcept { return data_ + size_; }
  /// Precondition: index < size().
  std::byte& operator[](std::size_t index) noexcept {
    QIO_CHECK_AT(index < size_, "operator[] reaches past the end of the aligned_buffer", detail::caller());
    return data_[index];
  }
  /// Precondition: index < size().
  const std::byte& operator[](std::size_t index) const noexcept {
    QIO_CHECK_AT(index < size_, "operator[] reaches past the end of the aligned_buffer", detail::caller());
    return data_[index];
  }

  /// A part of it. Precondition: offset + bytes <= size().
  std::span<std::byte> view(std::size_t offset, std::size_t bytes,
                            [[maybe_unused]] detail::caller from = detail::caller::here()) noexcept {
    QIO_CHECK_AT(offset <= size_ && bytes <= size_ - offset, "view() reaches past the end of the aligned_buffer", from);
    return {data_ + offset, bytes};
  }
  /// A part of it. Precondition: offset + bytes <= size().
  std::span<const std::byte> view(std::size_t offset, std::size_t bytes,
                                  [[maybe_unused]] detail::caller from = detail::caller::here()) const noexcept {
    QIO_CHECK_AT(offset <= size_ && bytes <= size_ - offset, "view() reaches past the end of the aligned_buffer", from);
    return {data_ + offset, bytes};
  }

 private:
  aligned_buffer(std::byte* data, std::size_t size, std::size_t alignment) noexcept
      : data_(data), size_(size), alignment_(alignment) {}

  std::byte* data_;
  std::size_t size_;
  std::size_t alignment_;
};

namespace detail {

// --- what one system call transfers, and its result: the interface between transfers and the platform ---

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
struct buffer_array {
  const void* data() const noexcept { return first; }
  mutable_buffer operator[](std::size_t index) const noexcept {
    mutable_buffer copy;
    std::memcpy(&copy, static_cast<const std::byte*>(first) + index * sizeof copy, sizeof copy);
    return copy;
  }
  void skip(std::size_t count) noexcept {
    first = static_cast<const std::byte*>(first) + count * sizeof(mutable_buffer);
  }
  friend bool operator==(const buffer_array&, const buffer_array&) = default;
  friend bool operator==(const buffer_array& array, const void* address) noexcept { return array.first == address; }

  const void* first = nullptr;
};

static_assert(sizeof(const_buffer) == sizeof(mutable_buffer) &&
              offsetof(const_buffer, data) == offsetof(mutable_buffer, data) &&
              offsetof(const_buffer, size) == offsetof(mutable_buffer, size));

/// The buffers of a vectored transfer. Borrowed.
struct buffer_list {
  buffer_list(std::span<const mutable_buffer> buffers) noexcept : first{buffers.data()}, count(buffers.size()) {}
  buffer_list(std::span<const const_buffer> buffers) noexcept : first{buffers.data()}, count(buffers.size()) {}

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

// --- what the type of a buffer determines: whether it is valid, whether it outlives the call, its size if fixed ---

/// The size in bytes, if the buffer's type fixes it; otherwise 0, which is a multiple of everything.
template <class Buffer>
inline constexpr std::size_t static_extent = 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::array<T, Count>> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<T[Count]> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::span<T, Count>> =
    sizeof(T) == 1 && Count != std::dynamic_extent ? Count : 0;

/// What a read fills: bytes, or several buffers.
template <class Buffer>
concept readable_into =
    std::convertible_to<Buffer, std::span<std::byte>> || std::convertible_to<Buffer, std::span<const mutable_buffer>>;

/// What a write sends: bytes, or several buffers.
template <class Buffer>
concept writable_from = std::convertible_to<Buffer, std::span<const std::byte>> ||
                        std::convertible_to<Buffer, std::span<const const_buffer>>;

/// Contiguous memory of another element type, such as a std::string. The declarations accept it so that the
/// static_asserts below can name the fix.
template <class Buffer>
concept holds_no_bytes = std::ranges::contiguous_range<Buffer> && !readable_into<Buffer> && !writable_from<Buffer> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, std::byte> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, mutable_buffer> &&
                         !std::same_as<std::ranges::range_value_t<Buffer>, const_buffer>;

/// Whether a buffer that is passed as `Buffer&&` still exists after the call returns: it has a name, or is a view of
/// memory that something else owns.
template <class Buffer>
inline constexpr bool is_borrowed =
    std::is_lvalue_reference_v<Buffer> || std::ranges::borrowed_range<Buffer> ||
    (!std::ranges::range<Buffer> && std::is_trivially_copyable_v<std::remove_cvref_t<Buffer>>);

/// Converts the caller's argument to what a transfer takes: one buffer, or a list of several.
template <class Buffer>
auto buffers_to_fill(Buffer& buffer) noexcept {
  static_assert(!holds_no_bytes<Buffer&>,
                "qio: a read fills std::byte: pass std::as_writable_bytes(std::span(x)) instead of x");
  if constexpr (holds_no_bytes<Buffer&>)
    return mutable_buffer();
  else if constexpr (std::convertible_to<Buffer&, std::span<std::byte>>)
    return mutable_buffer(std::span<std::byte>(buffer));
  else
    return buffer_list(std::span<const mutable_buffer>(buffer));
}

// A transfer does not know its direction; a write only reads its buffers.
template <class Buffer>
auto buffers_to_send(Buffer& buffer) noexcept {
  static_assert(!holds_no_bytes<Buffer&>,
                "qio: a write sends std::byte: pass std::as_bytes(std::span(x)) instead of x");
  if constexpr (holds_no_bytes<Buffer&>) {
    return mutable_buffer();
  } else if constexpr (std::convertible_to<Buffer&, std::span<const std::byte>>) {
    const std::span<const std::byte> bytes(buffer);
    return mutable_buffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  } else {
    return buffer_list(std::span<const const_buffer>(buffer));
  }
}

/// Either of them, as a range.
inline std::span<const mutable_buffer> each_of(const mutable_buffer& only) noexcept { return {&only, 1}; }
inline buffer_list each_of(buffer_list several) noexcept { return several; }

}  // namespace detail
QIO_END_NAMESPACE
