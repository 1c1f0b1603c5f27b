// SPDX-License-Identifier: BSL-1.0
// What the type of a buffer tells: whether it may be one, and its size, if that is part of the type.
#pragma once

#include <qio/buffer.hpp>
#include <qio/detail/transfer.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace qio::detail {

/// Bytes of a buffer whose type fixes them; 0, which is a multiple of everything, if the type does not.
template <class Buffer>
inline constexpr std::size_t static_extent = 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::array<T, Count>> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<T[Count]> = sizeof(T) == 1 ? Count : 0;
template <class T, std::size_t Count>
inline constexpr std::size_t static_extent<std::span<T, Count>> =
    sizeof(T) == 1 && Count != std::dynamic_extent ? Count : 0;

template <class Buffer>
concept readable_into =
    std::convertible_to<Buffer, std::span<std::byte>> || std::convertible_to<Buffer, std::span<const mutable_buffer>>;

template <class Buffer>
concept writable_from = std::convertible_to<Buffer, std::span<const std::byte>> ||
                        std::convertible_to<Buffer, std::span<const const_buffer>>;

/// What a transfer is made of, from what the caller gave: one buffer, or a span of several.
template <class Buffer>
auto buffers_to_fill(Buffer& buffer) noexcept {
  if constexpr (std::convertible_to<Buffer&, std::span<std::byte>>)
    return mutable_buffer(std::span<std::byte>(buffer));
  else
    return std::span<const mutable_buffer>(buffer);
}

// A transfer does not know which way it goes; what is to be written is only ever read from.
template <class Buffer>
auto buffers_to_send(Buffer& buffer) noexcept {
  if constexpr (std::convertible_to<Buffer&, std::span<const std::byte>>) {
    const std::span<const std::byte> bytes(buffer);
    return mutable_buffer(const_cast<std::byte*>(bytes.data()), bytes.size());
  } else {
    static_assert(sizeof(const_buffer) == sizeof(mutable_buffer));
    const std::span<const const_buffer> vector(buffer);
    return std::span(reinterpret_cast<const mutable_buffer*>(vector.data()), vector.size());
  }
}

/// Either, as a span.
inline std::span<const mutable_buffer> each_of(const mutable_buffer& only) noexcept { return {&only, 1}; }
inline std::span<const mutable_buffer> each_of(std::span<const mutable_buffer> several) noexcept { return several; }

}  // namespace qio::detail
