// The log of device-mapper's log-writes target, as its documentation in Linux describes it (log-writes.rst).
#pragma once

#include <cstdint>

namespace log_of_writes {

/// In the first block.
struct superblock {
  std::uint64_t magic, version, entries;
  std::uint32_t block;  // bytes
};
/// In a block of its own, which the text of a mark follows at once, and in the next blocks what was written.
struct entry {
  std::uint64_t block, blocks, flags, text_bytes;
};
constexpr std::uint64_t magic = 0x6a736677736872, version = 1;
constexpr std::uint64_t flush = 1, forced = 2, discard = 4, mark = 8;  // flags

}  // namespace log_of_writes
