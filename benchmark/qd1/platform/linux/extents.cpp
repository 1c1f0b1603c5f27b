// SPDX-License-Identifier: BSL-1.0
// Documentation/filesystems/fiemap.rst
#include "platform/file.hpp"

#include <fcntl.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

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

// The sum of what `count(extent, bytes)` says of each extent within the first `bytes`, of which it is given the length
// that lies there.
template <class Count>
std::optional<std::uint64_t> sum_over_extents(const std::string& path, std::uint64_t bytes, Count&& count) {
  const int handle = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (handle < 0) return std::nullopt;
  std::uint64_t sum = 0;
  std::uint64_t at = 0;
  bool known = true;
  while (at < bytes && known) {
    const std::uint64_t asked_from = at;
    extents found;
    known = next_extents(handle, at, bytes, found);
    const fiemap& header = found.header();
    if (!known || header.fm_mapped_extents == 0) break;
    for (std::uint32_t each = 0; each < header.fm_mapped_extents; ++each) {
      const fiemap_extent& extent = header.fm_extents[each];
      const std::uint64_t end = std::min<std::uint64_t>(extent.fe_logical + extent.fe_length, bytes);
      const std::uint64_t begin = std::max<std::uint64_t>(extent.fe_logical, at);
      if (end > begin) sum += count(extent, end - begin);
      at = std::max(at, end);
    }
    if (at == asked_from) break;  // so that a file system that repeats itself ends
  }
  ::close(handle);
  return known ? std::optional(sum) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> bytes_without_data(const std::string& path, std::uint64_t bytes) {
  const auto written = sum_over_extents(path, bytes, [](const fiemap_extent& extent, std::uint64_t length) {
    return (extent.fe_flags & FIEMAP_EXTENT_UNWRITTEN) == 0 ? length : 0;
  });
  return written ? std::optional(bytes - *written) : std::nullopt;
}

std::optional<std::uint64_t> shared_bytes(const std::string& path, std::uint64_t bytes) {
  return sum_over_extents(path, bytes, [](const fiemap_extent& extent, std::uint64_t length) {
    return (extent.fe_flags & FIEMAP_EXTENT_SHARED) != 0 ? length : 0;
  });
}

}  // namespace qd1::platform
