// SPDX-License-Identifier: BSL-1.0
// Whether a file that was opened with O_DIRECT is direct, and what alignment it demands.
#pragma once

#include <qio/detail/posix/handle.hpp>
#include <qio/mode.hpp>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

namespace qio::platform {

/// What was found out about direct I/O on an open file.
struct direct_support {
  error refusal;       ///< why it cannot be had; does not exist() if it can
  alignment needed;    ///< what transfers must be multiples of
  std::string source;  ///< where `needed` is known from
};

namespace statx_direct {
// include/uapi/linux/stat.h. Read by position, since the C library's struct may be older than the kernel.
inline constexpr unsigned dioalign = 0x2000;         // STATX_DIOALIGN, Linux 6.1
inline constexpr unsigned dio_read_align = 0x20000;  // STATX_DIO_READ_ALIGN, Linux 6.14
inline constexpr std::size_t at_memory = 0x98, at_offset = 0x9c, at_read_offset = 0xb4;

inline std::uint32_t field(const struct statx& status, std::size_t position) noexcept {
  static_assert(sizeof(struct statx) == 256);
  std::uint32_t value;
  std::memcpy(&value, reinterpret_cast<const char*>(&status) + position, sizeof value);
  return value;
}
}  // namespace statx_direct

/// Bytes of a logical block of a block device, from sysfs; 0 where there is no such device (btrfs, overlay, NFS have
/// none of their own). A partition has its queue one level up.
inline std::uint32_t logical_block_size(dev_t device) noexcept {
  for (const char* pattern :
       {"/sys/dev/block/%u:%u/queue/logical_block_size", "/sys/dev/block/%u:%u/../queue/logical_block_size"}) {
    char name[96];
    std::snprintf(name, sizeof name, pattern, major(device), minor(device));
    std::FILE* const file = std::fopen(name, "re");
    if (file == nullptr) continue;
    unsigned bytes = 0;
    const bool found = std::fscanf(file, "%u", &bytes) == 1;
    std::fclose(file);
    if (found && std::has_single_bit(bytes)) return bytes;
  }
  return 0;
}

/// For kernels before 6.1, and file systems that do not answer statx's question.
inline direct_support direct_support_without_statx(native_handle handle, const struct statfs& system) {
  // XFS_IOC_DIOINFO (xfs_fs.h): memory alignment, smallest and largest transfer.
  struct {
    std::uint32_t memory, smallest, largest;
  } xfs{};
  if (static_cast<unsigned long>(system.f_type) == XFS_SUPER_MAGIC && ::ioctl(handle, _IOR('X', 30, xfs), &xfs) == 0)
    return {{}, {xfs.memory, xfs.smallest, xfs.smallest}, "XFS_IOC_DIOINFO"};

  struct stat status;
  if (::fstat(handle, &status) != 0) return {last_error(), {}, {}};
  const std::uint32_t block = logical_block_size(S_ISBLK(status.st_mode) ? status.st_rdev : status.st_dev);
  if (block != 0) return {{}, {block, block, block}, "logical block size of the device"};

  const auto preferred = static_cast<std::uint32_t>(std::clamp<long>(status.st_blksize, 512, 4096));
  const std::uint32_t assumed = std::bit_ceil(preferred);
  return {{},
          {assumed, assumed, assumed},
          "assumed: the file system does not say, nor whether direct I/O bypasses its cache"};
}

inline direct_support find_direct_support(native_handle handle) {
  struct statfs system;
  if (::fstatfs(handle, &system) != 0) return {last_error(), {}, {}};
  switch (static_cast<unsigned long>(system.f_type)) {
    // These accept O_DIRECT (tmpfs since Linux 6.6) and serve it from memory.
    case TMPFS_MAGIC:
    case RAMFS_MAGIC:
    case HUGETLBFS_MAGIC: return {errc::direct_in_memory, {}, {}};
    default: break;
  }

  struct statx status {};
  const unsigned wanted = STATX_BASIC_STATS | statx_direct::dioalign | statx_direct::dio_read_align;
  const bool answered = ::statx(handle, "", AT_EMPTY_PATH, wanted, &status) == 0;
  if (!answered || (status.stx_mask & statx_direct::dioalign) == 0) return direct_support_without_statx(handle, system);

  const std::uint32_t memory = statx_direct::field(status, statx_direct::at_memory);
  const std::uint32_t offset = statx_direct::field(status, statx_direct::at_offset);
  if (memory == 0 || offset == 0) return {errc::direct_not_supported, {}, {}};
  const std::uint32_t read_offset = (status.stx_mask & statx_direct::dio_read_align) != 0
                                        ? statx_direct::field(status, statx_direct::at_read_offset)
                                        : 0;
  return {{}, {memory, read_offset != 0 ? read_offset : offset, offset}, "statx"};
}

/// Switches an open file to direct I/O. Not by a flag of open(2), so that whether it can be had is known before
/// anything is truncated or replaced.
inline result<void> make_direct(native_handle handle) noexcept {
  const int flags = ::fcntl(handle, F_GETFL);
  if (flags < 0 || ::fcntl(handle, F_SETFL, flags | O_DIRECT) != 0) return last_error();
  return BOOST_OUTCOME_V2_NAMESPACE::success();
}

}  // namespace qio::platform
