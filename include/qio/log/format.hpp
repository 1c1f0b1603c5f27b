// SPDX-License-Identifier: BSL-1.0
// What a log looks like on the disk: see docs/log.md.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

QIO_BEGIN_NAMESPACE
namespace detail::log_format {

/// What every device writes whole or not at all. Each ends with a stamp, so a batch whose sectors are not all there is
/// recognized.
inline constexpr std::size_t sector = 512;
inline constexpr std::size_t stamp_bytes = 4;
inline constexpr std::size_t payload = sector - stamp_bytes;  ///< of a sector

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t block) noexcept {
  return (bytes + block - 1) / block * block;
}

/// Numbers are little-endian.
inline void store(std::byte* to, std::uint64_t number, std::size_t bytes) noexcept {
  if constexpr (std::endian::native == std::endian::little)
    std::memcpy(to, &number, bytes);
  else
    for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}
inline std::uint64_t load(const std::byte* from, std::size_t bytes) noexcept {
  std::uint64_t number = 0;
  if constexpr (std::endian::native == std::endian::little)
    std::memcpy(&number, from, bytes);
  else
    for (std::size_t i = 0; i < bytes; ++i) number |= static_cast<std::uint64_t>(from[i]) << (8 * i);
  return number;
}

constexpr std::uint64_t mix(std::uint64_t number) noexcept {
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;  // the finalizer of splitmix64
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

/// What the sectors of a batch end with. The batches of two logs, two generations or two numbers have different stamps.
class stamps {
 public:
  constexpr stamps(std::uint64_t log, std::uint64_t generation, std::uint64_t batch) noexcept
      : seed_(mix(mix(log + generation) + batch)) {}

  /// The stamp of sector `index`. Each of its bytes has at least two bits set: where a byte is zero, it was not written
  /// or was erased, and not one bit of it has changed.
  constexpr std::uint32_t of(std::uint64_t index) const noexcept {
    return static_cast<std::uint32_t>(mix(seed_ + index)) | 0x11111111u;
  }
  constexpr std::uint64_t seed() const noexcept { return seed_; }

 private:
  std::uint64_t seed_;
};

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

/// Numbers are less than this, so adding to one does not wrap around. A log whose numbers are half as large has been
/// forged: its next ones might not be less.
inline constexpr std::uint64_t number_limit = std::uint64_t(1) << 62;

/// A place between two batches.
struct position {
  std::uint64_t offset = 0;  ///< of the next batch, in the file
  std::uint64_t batch = 1;   ///< its number
  std::uint64_t record = 1;  ///< the number of its first record

  bool is_behind(const position& other) const noexcept {
    return offset >= other.offset && batch >= other.batch && record >= other.record;
  }
  bool is_sane() const noexcept {
    return offset < number_limit && batch != 0 && batch < number_limit && record != 0 && record < number_limit;
  }
};

/// Stored twice, in blocks of their own, and written one after the other: one of the two is always whole.
struct file_header {
  static constexpr char version = '3';
  static constexpr std::uint64_t name = 0x00000a676f6c6971;  // "qilog\n", without the version
  static constexpr std::uint64_t magic = name | std::uint64_t(version) << 48;
  static constexpr std::size_t bytes = 128;

  static constexpr std::uint64_t smallest_copy = 4096, largest_copy = std::uint64_t(1) << 20;
  static constexpr std::uint64_t has_checksums = 1;  ///< the only flag so far

  std::uint64_t id = 0;          ///< of this log, at random
  std::uint64_t block = 0;       ///< what offsets and lengths of batches are multiples of
  std::uint64_t largest = 0;     ///< bytes of a batch
  std::uint64_t flags = 0;       ///< a reader must know all of them
  std::uint64_t generation = 1;  ///< renewed whenever the log is opened for appending
  std::uint64_t owned = 0;       ///< the end of what was written in advance; batches are in front of it
  position start;                ///< where reading begins
  position known;                ///< up to there, all records were durable when the header was written

  /// What a copy takes of the file.
  std::uint64_t copy_bytes() const noexcept { return greater_of(block, smallest_copy); }
  /// The offset of the first batch of a new log.
  std::uint64_t first() const noexcept { return 2 * copy_bytes(); }

  /// Whether it was written later than another copy of the same log.
  bool is_newer_than(const file_header& other) const noexcept {
    if (generation != other.generation) return generation > other.generation;
    return owned != other.owned ? owned > other.owned : start.offset > other.start.offset;
  }

  /// Whether it is of the same log, with the same layout, which never changes.
  bool is_of_same_log(const file_header& other) const noexcept {
    return id == other.id && block == other.block && largest == other.largest && flags == other.flags;
  }

  /// Stores the copy that is at `offset` of the file.
  void store_to(std::byte* to, std::uint64_t offset) const noexcept {
    store_sealed(
        to, std::array<std::uint64_t, 15>{magic, offset, id, block, largest, flags, generation, owned, start.offset,
                                          start.batch, start.record, known.offset, known.batch, known.record, 0});
  }
  static std::optional<file_header> load_from(const std::byte* from, std::uint64_t offset) noexcept {
    const auto found = load_sealed<15>(from);
    if (!found) return std::nullopt;
    const auto& n = *found;
    if (n[0] != magic || n[1] != offset) return std::nullopt;
    const file_header made{n[2], n[3], n[4], n[5], n[6], n[7], {n[8], n[9], n[10]}, {n[11], n[12], n[13]}};
    return made.is_sane() && (offset == 0 || offset == made.copy_bytes()) ? std::optional(made) : std::nullopt;
  }
  /// The version of the log that begins with these eight bytes, if it is another one.
  static std::optional<std::uint64_t> other_version(const std::byte* from) noexcept {
    if (load(from, 6) != name || from[6] == std::byte(version) || from[6] == std::byte{0}) return std::nullopt;
    return load(from + 6, 2) - '0';
  }

 private:
  // A header may be forged: what is computed from it must not overflow.
  bool is_sane() const noexcept {
    return std::has_single_bit(block) && block >= sector && block <= largest_copy && largest != 0 &&
           largest % block == 0 && largest < number_limit && generation != 0 && generation < number_limit &&
           owned < number_limit && owned % block == 0 && start.is_sane() && start.offset % block == 0 &&
           start.offset >= first() && known.is_sane() && known.offset % block == 0 && known.is_behind(start) &&
           known.offset <= owned;
  }
};

/// Where batches of a log begin: all of them, or, of a long log, every second, every fourth and so on.
class known_positions {
 public:
  /// That of the next batch.
  void add(const position& begin) noexcept {
    if (to_skip_ != 0) {
      --to_skip_;
      return;
    }
    if (count_ == most) {
      for (std::size_t i = 0; i != most / 2; ++i) all_[i] = all_[2 * i];
      count_ = most / 2;
      distance_ *= 2;
    }
    all_[count_++] = begin;
    to_skip_ = distance_ - 1;
  }
  /// The last one in front of `record`, or `otherwise`.
  position in_front_of(std::uint64_t record, const position& otherwise) const noexcept {
    position found = otherwise;
    for (std::size_t i = 0; i != count_ && all_[i].record <= record; ++i) found = all_[i];
    return found;
  }
  /// Those in front of `begin` are not needed any more.
  void drop(const position& begin) noexcept {
    std::size_t dropped = 0;
    while (dropped != count_ && all_[dropped].offset < begin.offset) ++dropped;
    for (std::size_t i = dropped; i != count_; ++i) all_[i - dropped] = all_[i];
    count_ -= dropped;
    if (count_ > 1) return;
    distance_ = 1;
    to_skip_ = 0;
  }

 private:
  static constexpr std::size_t most = 128;

  std::array<position, most> all_;
  std::size_t count_ = 0;
  std::uint64_t distance_ = 1;  // in batches
  std::uint64_t to_skip_ = 0;
};

/// Whether a log may be opened for appending that has this header, and ends there.
inline bool may_be_continued(const file_header& header, const position& end) noexcept {
  constexpr std::uint64_t most = number_limit / 2;
  return header.generation < most && end.batch < most && end.record < most && end.offset < most;
}

/// At the beginning of each batch, in its first sector.
struct batch_header {
  static constexpr std::uint64_t magic = 0x0a68637461626c71;  // "qlbatch\n"
  static constexpr std::size_t bytes = 80;

  std::uint64_t log = 0;           ///< file_header::id
  std::uint64_t generation = 0;    ///< of the writer: file_header::generation
  std::uint64_t number = 0;        ///< of the batch, from 1
  std::uint64_t offset = 0;        ///< where it is in the file
  std::uint64_t size = 0;          ///< on the disk, in bytes
  std::uint64_t first_record = 0;  ///< its number
  std::uint64_t records = 0;
  std::uint64_t checksum = 0;  ///< of its records, if the log has checksums

  void store_to(std::byte* to) const noexcept {
    store_sealed(to, std::array<std::uint64_t, 9>{magic, log, generation, number, offset, size, first_record, records,
                                                  checksum});
  }
  static std::optional<batch_header> load_from(const std::byte* from) noexcept {
    const auto found = load_sealed<9>(from);
    if (!found || (*found)[0] != magic) return std::nullopt;
    const auto& n = *found;
    return batch_header{n[1], n[2], n[3], n[4], n[5], n[6], n[7], n[8]};
  }

  /// Whether a header at `from` was written completely and has changed since. Its seal does not fit then, but no part
  /// is missing. If a header was written or erased in part, either two adjacent numbers are zero, because memory is
  /// copied in pieces of 16 bytes or more, or its first byte is, because it is copied from the beginning on.
  static bool has_changed(const std::byte* from) noexcept {
    if (from[0] == std::byte{0}) return false;
    for (std::size_t at = 0; at != bytes; at += 16)
      if (load(from + at, 8) == 0 && load(from + at + 8, 8) == 0) return false;
    return !load_from(from).has_value();
  }

  stamps stamps_of() const noexcept { return {log, generation, number}; }
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

inline std::uint32_t stamp_at(const std::byte* sector_begin) noexcept {
  return static_cast<std::uint32_t>(load(sector_begin + payload, stamp_bytes));
}

/// Whether a stamp may be what is left where `whole` was being written, or erased.
constexpr bool may_be_torn(std::uint32_t found, std::uint32_t whole) noexcept {
  for (std::uint32_t byte = 0xff; byte != 0; byte <<= 8)
    if ((found & byte) != 0 && (found & byte) != (whole & byte)) return false;
  return true;
}

inline void stamp(std::span<std::byte> batch, const stamps& with) noexcept {
  for (std::size_t index = 0; index < batch.size() / sector; ++index)
    store(batch.data() + index * sector + payload, with.of(index), stamp_bytes);
}

/// Whether every sector of a batch is there.
inline bool is_stamped(std::span<const std::byte> batch, const stamps& with) noexcept {
  for (std::size_t index = 0; index < batch.size() / sector; ++index)
    if (stamp_at(batch.data() + index * sector) != with.of(index)) return false;
  return true;
}

/// The checksum of what follows the header of a batch, without the stamps. Depends on the batch, and on where each word
/// is. A batch of which one word of eight bytes has changed always has another one.
inline std::uint64_t checksum_of(std::span<const std::byte> batch, const stamps& of) noexcept {
  std::uint64_t sum = of.seed();
  const auto add = [&sum](std::uint64_t word) {
    sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
    sum ^= sum >> 32;
  };
  for (std::size_t begin = 0; begin < batch.size(); begin += sector) {
    std::size_t at = begin == 0 ? batch_header::bytes : 0;
    for (; at + 8 <= payload; at += 8) add(load(batch.data() + begin + at, 8));
    add(load(batch.data() + begin + at, payload - at));
  }
  return sum;
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

}  // namespace detail::log_format
QIO_END_NAMESPACE
