// SPDX-License-Identifier: BSL-1.0
// What the type of a buffer determines: whether it is a valid buffer, whether it outlives the call, and its size if
// fixed.
#pragma once

#include <qio/buffer.hpp>
#include <qio/configuration.hpp>
#include <qio/system/piece.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <span>
#include <type_traits>

namespace qio::inline QIO_CONFIGURATION::detail {

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

}  // namespace qio::inline QIO_CONFIGURATION::detail
