// SPDX-License-Identifier: BSL-1.0
// Reads as much as a failing device still returns, and reports the parts that are lost.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/file.hpp>
#include <qio/result.hpp>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

QIO_BEGIN_NAMESPACE

/// A part of a file that cannot be read, and why.
struct unreadable {
  std::uint64_t offset = 0;  ///< of its first byte in the file
  std::uint64_t bytes = 0;   ///< its length
  error reason;              ///< why the read failed
};

/// The result of salvage().
struct salvaged {
  std::size_t bytes = 0;         ///< filled bytes: the whole buffer, unless the file ends first
  std::vector<unreadable> lost;  ///< parts that are zeros instead, in order; adjacent ones have different reasons
};

namespace detail {

/// Whether an error may be limited to the range that was read, so that other ranges may be readable: a bad sector (EIO,
/// ENODATA), a checksum error of the device or the file system (EILSEQ, EBADMSG), a device timeout.
inline bool is_of_place(const error& failure) noexcept {
  // ENODATA by its number: C++23 deprecates its name in std::errc.
  for (const std::errc each : {std::errc::io_error, std::errc(ENODATA), std::errc::illegal_byte_sequence,
                               std::errc::bad_message, std::errc::timed_out})
    if (failure == each) return true;
  return false;
}

/// The size in bytes of a block, which is read or lost as a whole.
template <file_mode Mode, class Engine>
std::uint64_t salvage_block(const basic_file<Mode, Engine>& from) noexcept {
  const alignment needed = from.alignment();
  const std::uint64_t block = greater_of(needed.read, needed.memory);
  return from.is_direct() ? block : greater_of<std::uint64_t>(block, platform::page_size());
}

inline void lose(salvaged& out, std::uint64_t offset, std::span<std::byte> memory, const error& reason) {
  std::memset(memory.data(), 0, memory.size());
  out.bytes += memory.size();
  const error why = reason.after(0);  // without the bytes transferred before it
  if (!out.lost.empty()) {
    unreadable& last = out.lost.back();
    if (last.offset + last.bytes == offset && last.reason == why) {
      last.bytes += memory.size();
      return;
    }
  }
  out.lost.push_back({offset, memory.size(), why});
}

/// Removes what lies past the end of the file, because a block that could not be read may extend beyond it.
template <file_mode Mode, class Engine>
result<void> forget_beyond_end(const basic_file<Mode, Engine>& from, std::uint64_t offset, salvaged& out) {
  const auto size = from.size();
  if (!size) return size.error();
  const std::uint64_t end = greater_of(size.value(), offset);
  out.bytes = static_cast<std::size_t>(lesser_of<std::uint64_t>(out.bytes, end - offset));
  while (!out.lost.empty() && out.lost.back().offset >= end) out.lost.pop_back();
  if (!out.lost.empty()) out.lost.back().bytes = lesser_of(out.lost.back().bytes, end - out.lost.back().offset);
  return success();
}

}  // namespace detail

/// Reads like read_at(), but skips what the device cannot read and fills it with zeros. Blocks for as long as the
/// device retries, about once for each block that is lost.
///
/// A block is the greater of alignment().read and alignment().memory for a direct file, counted from `offset`, and a
/// page, which the kernel reads as a whole, for other files: open the file direct to lose as little as possible.
/// Returns an error, as read_at() does, if the error is not limited to a range of the file (the file is not open for
/// reading, the buffer is misaligned). Allocates the list of lost parts.
template <file_mode Mode, class Engine>
result<salvaged> salvage(const basic_file<Mode, Engine>& from, std::uint64_t offset, std::span<std::byte> buffer) {
  if (!from.is_open()) return error(std::make_error_code(std::errc::bad_file_descriptor));
  const std::uint64_t block = detail::salvage_block(from);
  salvaged out;
  // The number of blocks to read at once: half as many after a failure, twice as many after a success.
  std::uint64_t blocks = buffer.size() / block + 2;
  while (out.bytes < buffer.size()) {
    const std::uint64_t at = offset + out.bytes;
    // Memory may need more alignment than offsets: then the blocks of the buffer are not those of the file.
    const std::uint64_t place = from.is_direct() ? out.bytes : at;
    const std::uint64_t end = (place / block + blocks) * block;
    const std::size_t rest = buffer.size() - out.bytes;
    const auto part =
        buffer.subspan(out.bytes, static_cast<std::size_t>(detail::lesser_of<std::uint64_t>(end - place, rest)));
    const auto answer = from.read_at(at, part);
    if (answer) {
      out.bytes += answer.value();
      if (answer.value() < part.size()) break;
      blocks *= 2;
      continue;
    }
    if (!detail::is_of_place(answer.error())) return answer.error();
    blocks = (place + part.size() - 1) / block - place / block + 1;
    if (blocks == 1)
      detail::lose(out, at, part, answer.error());
    else
      blocks /= 2;
  }
  if (!out.lost.empty())
    if (auto cut = detail::forget_beyond_end(from, offset, out); !cut) return cut.error();
  return out;
}

QIO_END_NAMESPACE
