// SPDX-License-Identifier: BSL-1.0
// What a log looks like on the disk: see docs/log.md.
#pragma once

#include <qio/base/bounds.hpp>
#include <qio/configuration.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace qio::inline QIO_CONFIGURATION::detail::log_format {

/// What every device writes whole or not at all. Each ends with a stamp, so a batch whose sectors are not all there is
/// recognized.
inline constexpr std::size_t sector = 512;
inline constexpr std::size_t stamp_bytes = 4;
inline constexpr std::size_t payload = sector - stamp_bytes;  ///< of a sector

/// The file's header has at least this much of the file for itself.
inline constexpr std::size_t smallest_first = 4096;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t block) noexcept {
  return (bytes + block - 1) / block * block;
}

/// Numbers are little-endian.
inline void store(std::byte* to, std::uint64_t number, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}
inline std::uint64_t load(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return number;
}

constexpr std::uint64_t mix(std::uint64_t number) noexcept {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;  // the finalizer of splitmix64
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

/// The end of sector `index` of a batch. Never zero, as preallocated sectors are.
constexpr std::uint32_t stamp_of(std::uint64_t log, std::uint64_t batch, std::uint64_t index) noexcept {
  return static_cast<std::uint32_t>(mix(mix(log + batch) + index)) | 1u;
}

/// Depends on every number before it.
template <std::size_t Count>
constexpr std::uint64_t seal_of(const std::array<std::uint64_t, Count>& numbers) noexcept {
  std::uint64_t seal = Count;
  for (const std::uint64_t each : numbers) seal = mix(seal + 0x9e3779b97f4a7c15u + each);
  return seal;
}

/// Eight bytes for each number, then the seal.
template <std::size_t Count>
void store_sealed(std::byte* to, const std::array<std::uint64_t, Count>& numbers) noexcept {
  for (std::size_t i = 0; i < Count; ++i) store(to + 8 * i, numbers[i], 8);
  store(to + 8 * Count, seal_of(numbers), 8);
}
template <std::size_t Count>
std::optional<std::array<std::uint64_t, Count>> load_sealed(const std::byte* from) noexcept {
  std::array<std::uint64_t, Count> numbers;
  for (std::size_t i = 0; i < Count; ++i) numbers[i] = load(from + 8 * i, 8);
  if (load(from + 8 * Count, 8) != seal_of(numbers)) return std::nullopt;
  return numbers;
}

/// At the beginning of the file.
struct file_header {
  static constexpr std::uint64_t magic = 0x00310a676f6c6971;  // "qilog\n1\0"
  static constexpr std::size_t bytes = 40;

  std::uint64_t id;       ///< of this log, at random
  std::uint64_t block;    ///< what offsets and lengths of batches are multiples of
  std::uint64_t largest;  ///< bytes of a batch

  std::uint64_t first() const noexcept { return greater_of<std::uint64_t>(block, smallest_first); }

  void store_to(std::byte* to) const noexcept {
    store_sealed(to, std::array<std::uint64_t, 4>{magic, id, block, largest});
  }
  static std::optional<file_header> load_from(const std::byte* from) noexcept {
    const auto found = load_sealed<4>(from);
    if (!found || (*found)[0] != magic) return std::nullopt;
    return file_header{(*found)[1], (*found)[2], (*found)[3]};
  }
};

/// At the beginning of each batch, in its first sector.
struct batch_header {
  static constexpr std::uint64_t magic = 0x0a68637461626c71;  // "qlbatch\n"
  static constexpr std::size_t bytes = 64;

  std::uint64_t log;           ///< file_header::id
  std::uint64_t number;        ///< of the batch, from 1
  std::uint64_t offset;        ///< where it is in the file
  std::uint64_t size;          ///< on the disk, in bytes
  std::uint64_t first_record;  ///< its number
  std::uint64_t records;

  void store_to(std::byte* to) const noexcept {
    store_sealed(to, std::array<std::uint64_t, 7>{magic, log, number, offset, size, first_record, records});
  }
  static std::optional<batch_header> load_from(const std::byte* from) noexcept {
    const auto found = load_sealed<7>(from);
    if (!found || (*found)[0] != magic) return std::nullopt;
    return batch_header{(*found)[1], (*found)[2], (*found)[3], (*found)[4], (*found)[5], (*found)[6]};
  }
};

/// Before each record: its length.
inline constexpr std::size_t frame_bytes = 8;
/// What a record takes in a batch. The next one begins at a multiple of eight bytes.
constexpr std::uint64_t framed(std::uint64_t bytes) noexcept { return round_up(frame_bytes + bytes, 8); }

/// What `payload_bytes` of a batch take on the disk.
constexpr std::uint64_t on_disk(std::uint64_t payload_bytes, std::uint64_t block) noexcept {
  return round_up((payload_bytes + payload - 1) / payload * sector, block);
}

/// The longest record that a batch of `largest` bytes can hold alone.
constexpr std::uint64_t longest_record(std::uint64_t largest) noexcept {
  return largest / sector * payload / 8 * 8 - batch_header::bytes - frame_bytes;
}

/// Puts `bytes` into the payload of the sectors at `memory`, from byte `at` of the payload on.
inline void put(std::byte* memory, std::size_t at, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const std::size_t within = at % payload;
    const std::size_t part = lesser_of(bytes.size(), payload - within);
    std::memcpy(memory + at / payload * sector + within, bytes.data(), part);
    at += part;
    bytes = bytes.subspan(part);
  }
}

inline void stamp(std::span<std::byte> batch, std::uint64_t log, std::uint64_t number) noexcept {
  for (std::size_t index = 0; index < batch.size() / sector; ++index)
    store(batch.data() + index * sector + payload, stamp_of(log, number, index), stamp_bytes);
}

/// Whether every sector of a batch is there.
inline bool is_stamped(std::span<const std::byte> batch, std::uint64_t log, std::uint64_t number) noexcept {
  for (std::size_t index = 0; index < batch.size() / sector; ++index)
    if (load(batch.data() + index * sector + payload, stamp_bytes) != stamp_of(log, number, index)) return false;
  return true;
}

/// Moves the payload of a batch together, and returns it.
inline std::span<std::byte> join(std::span<std::byte> batch) noexcept {
  for (std::size_t index = 1; index < batch.size() / sector; ++index)
    std::memmove(batch.data() + index * payload, batch.data() + index * sector, payload);
  return batch.first(batch.size() / sector * payload);
}

inline bool is_zero(std::span<const std::byte> bytes) noexcept {
  return bytes.empty() ||
         (bytes[0] == std::byte{0} && std::memcmp(bytes.data(), bytes.data() + 1, bytes.size() - 1) == 0);
}

}  // namespace qio::inline QIO_CONFIGURATION::detail::log_format
