// SPDX-License-Identifier: BSL-1.0
// Reading what a failing device still gives, and learning what it does not.
#pragma once

#include <qio/detail/bounds.hpp>
#include <qio/file.hpp>
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <system_error>
#include <vector>

namespace qio {

/// A part of a file that cannot be read, and why.
struct unreadable {
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  error reason;
};

/// What salvage() has come to.
struct salvaged {
  std::size_t bytes = 0;         ///< of the buffer: all of it, unless the file ends before …
  std::vector<unreadable> lost;  ///< … less these, which are zeros there. In order; none begins where another ends.
};

namespace detail {

/// Whether an error may be one of the place that was read, such that others can be read all the same: a sector
/// (EIO, ENODATA), a checksum of the device or the file system (EILSEQ, EBADMSG), a device that gave up.
inline bool is_of_place(const error& failure) noexcept {
  for (const std::errc each : {std::errc::io_error, std::errc::no_message_available, std::errc::illegal_byte_sequence,
                               std::errc::bad_message, std::errc::timed_out})
    if (failure == each) return true;
  return false;
}

/// What is read or lost as a whole, in bytes.
template <file_mode Mode, class Engine>
std::uint64_t salvage_block(const basic_file<Mode, Engine>& from) noexcept {
  const alignment needed = from.alignment();
  const std::uint64_t block = greater_of(needed.read, needed.memory);
  return from.is_direct() ? block : greater_of<std::uint64_t>(block, platform::page_size());
}

inline void lose(salvaged& out, std::uint64_t offset, std::span<std::byte> memory, const error& reason) {
  std::memset(memory.data(), 0, memory.size());
  out.bytes += memory.size();
  const error why = reason.code();  // without what was transferred before
  if (!out.lost.empty()) {
    unreadable& last = out.lost.back();
    if (last.offset + last.bytes == offset && last.reason == why) {
      last.bytes += memory.size();
      return;
    }
  }
  out.lost.push_back({offset, memory.size(), why});
}

/// A block that could not be read may reach beyond the end of the file.
template <file_mode Mode, class Engine>
result<void> forget_beyond_end(const basic_file<Mode, Engine>& from, std::uint64_t offset, salvaged& out) {
  const auto size = from.size();
  if (!size) return size.error();
  const std::uint64_t end = greater_of(size.value(), offset);
  out.bytes = static_cast<std::size_t>(lesser_of<std::uint64_t>(out.bytes, end - offset));
  while (!out.lost.empty() && out.lost.back().offset >= end) out.lost.pop_back();
  if (!out.lost.empty()) out.lost.back().bytes = lesser_of(out.lost.back().bytes, end - out.lost.back().offset);
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

}  // namespace detail

/// Reads as read_at() does, over what the device cannot read. Blocks, as often and as long as the device tries: in a
/// part that is lost about once for each block of it.
///
/// A block is that of the device for a direct file (alignment().read), and a page for others, which the kernel reads
/// whole: open the file direct to lose as little as can be. Errors that are not of one place (the file is not open for
/// reading, the buffer is misaligned) are the answer, as of read_at(). Allocates the list of what is lost.
template <file_mode Mode, class Engine>
result<salvaged> salvage(const basic_file<Mode, Engine>& from, std::uint64_t offset, std::span<std::byte> buffer) {
  const std::uint64_t block = detail::salvage_block(from);
  salvaged out;
  // So many blocks are tried at once: half as many where that fails, twice as many where it does not.
  std::uint64_t blocks = buffer.size() / block + 2;
  while (out.bytes < buffer.size()) {
    const std::uint64_t at = offset + out.bytes;
    const std::uint64_t end = (at / block + blocks) * block;
    const std::size_t rest = buffer.size() - out.bytes;
    const auto part =
        buffer.subspan(out.bytes, static_cast<std::size_t>(detail::lesser_of<std::uint64_t>(end - at, rest)));
    const auto answer = from.read_at(at, part);
    if (answer) {
      out.bytes += answer.value();
      if (answer.value() < part.size()) break;
      blocks *= 2;
      continue;
    }
    if (!detail::is_of_place(answer.error())) return answer.error();
    blocks = (at + part.size() - 1) / block - at / block + 1;
    if (blocks == 1)
      detail::lose(out, at, part, answer.error());
    else
      blocks /= 2;
  }
  if (!out.lost.empty())
    if (auto cut = detail::forget_beyond_end(from, offset, out); !cut) return cut.error();
  return out;
}

}  // namespace qio
