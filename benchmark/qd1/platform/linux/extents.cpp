// SPDX-License-Identifier: BSL-1.0
// Documentation/filesystems/fiemap.rst
#include "platform/file.hpp"
#include "platform/loop.hpp"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace qd1::platform {
namespace {

// A fiemap ends in an array without a length, so it is laid over memory that is long enough.
struct extents {
  static constexpr std::uint32_t most = 64;
  alignas(fiemap) std::byte memory[sizeof(fiemap) + most * sizeof(fiemap_extent)] = {};

  fiemap& header() { return *reinterpret_cast<fiemap*>(memory); }
};

bool next_extents(int handle, std::uint64_t from, std::uint64_t to, extents& found) {
  fiemap& header = found.header();
  header.fm_start = from;
  header.fm_length = to - from;
  header.fm_flags = FIEMAP_FLAG_SYNC;
  header.fm_extent_count = extents::most;
  return ::ioctl(handle, FS_IOC_FIEMAP, &header) == 0;
}

// Calls `see(extent, begin, end)` for each extent, with the part of it that lies within the range. False where the file
// system does not report them.
template <class See>
bool for_each_extent(int handle, byte_range within, See&& see) {
  for (std::uint64_t at = within.begin; at < within.end;) {
    const std::uint64_t asked_from = at;
    extents found;
    if (!next_extents(handle, at, within.end, found)) return false;
    const fiemap& header = found.header();
    for (std::uint32_t each = 0; each < header.fm_mapped_extents; ++each) {
      const fiemap_extent& extent = header.fm_extents[each];
      const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, within.end);
      const std::uint64_t begin = std::max<std::uint64_t>(extent.fe_logical, at);
      if (end > begin) see(extent, begin, end);
      at = std::max(at, end);
    }
    if (at == asked_from) break;  // no more; also so that a file system that repeats itself ends
  }
  return true;
}

// The sum of the bytes of the extents within the first `bytes` that have, or lack, a flag.
std::optional<std::uint64_t> bytes_of(const std::string& path, std::uint64_t bytes, std::uint32_t flag, bool has_it) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return std::nullopt;
  std::uint64_t sum = 0;
  const bool known =
      for_each_extent(handle, {0, bytes}, [&](const fiemap_extent& extent, std::uint64_t begin, std::uint64_t end) {
        if (((extent.fe_flags & flag) != 0) == has_it) sum += end - begin;
      });
  ::close(handle);
  return known ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes) {
  const auto written = bytes_of(path, bytes, FIEMAP_EXTENT_UNWRITTEN, false);
  return written ? std::optional(bytes - *written) : std::nullopt;
}

std::optional<std::uint64_t> shared_bytes(const std::string& path, std::uint64_t bytes) {
  return bytes_of(path, bytes, FIEMAP_EXTENT_SHARED, true);
}

std::optional<placement> place(const std::string& path, const std::vector<byte_range>& ranges) {
  constexpr std::uint32_t packed = FIEMAP_EXTENT_ENCODED | FIEMAP_EXTENT_NOT_ALIGNED | FIEMAP_EXTENT_UNKNOWN;
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return std::nullopt;
  placement found;
  bool known = true;
  for (const byte_range& each : ranges) {
    std::uint64_t written = 0;
    known = known &&
            for_each_extent(handle, each, [&](const fiemap_extent& extent, std::uint64_t begin, std::uint64_t end) {
              if ((extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0) return;
              written += end - begin;
              const std::uint64_t at = extent.fe_physical + (begin - extent.fe_logical);
              if ((extent.fe_flags & packed) != 0)
                found.encoded += end - begin;
              else
                found.on_device.push_back({at, at + (end - begin)});
            });
    found.missing += each.end - each.begin - written;
  }
  ::close(handle);
  return known ? std::optional(std::move(found)) : std::nullopt;
}

}  // namespace qd1::platform
