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

/// One buffer or several, borrowed.
struct buffers {
  mutable_buffer only;
  const mutable_buffer* vector = nullptr;  ///< null: `only` is meant
  std::size_t count = 0;

  transfer at(std::uint64_t offset) const noexcept {
    return vector == nullptr ? transfer(offset, only) : transfer(offset, std::span(vector, count));
  }
  std::span<const mutable_buffer> all() const noexcept {
    return vector == nullptr ? std::span(&only, 1) : std::span(vector, count);
  }
};

template <class Buffer>
buffers buffers_to_fill(Buffer& buffer) noexcept {
  if constexpr (std::convertible_to<Buffer&, std::span<std::byte>>) {
    return {std::span<std::byte>(buffer), nullptr, 0};
  } else {
    const std::span<const mutable_buffer> vector(buffer);
    return {{}, vector.data(), vector.size()};
  }
}

// A transfer does not know which way it goes; what is to be written is only ever read from.
template <class Buffer>
buffers buffers_to_send(Buffer& buffer) noexcept {
  if constexpr (std::convertible_to<Buffer&, std::span<const std::byte>>) {
    const std::span<const std::byte> bytes(buffer);
    return {{const_cast<std::byte*>(bytes.data()), bytes.size()}, nullptr, 0};
  } else {
    static_assert(sizeof(const_buffer) == sizeof(mutable_buffer));
    const std::span<const const_buffer> vector(buffer);
    return {{}, reinterpret_cast<const mutable_buffer*>(vector.data()), vector.size()};
  }
}

}  // namespace qio::detail
