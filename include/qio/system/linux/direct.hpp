// SPDX-License-Identifier: BSL-1.0
// Whether a file opened with O_DIRECT is direct, and what alignment it needs.
#pragma once

#include <qio/base/helpers.hpp>
#include <qio/configuration.hpp>
#include <qio/mode.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/file_system.hpp>
#include <qio/system/linux/open.hpp>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Whether an open file supports direct I/O, and with what alignment.
struct direct_support {
  error refusal;       ///< why direct I/O is unavailable; no error if it is available
  alignment needed;    ///< in bytes; transfers must be multiples of it
  std::string source;  ///< how `needed` was determined
  atomic_write_limits untorn = {};
};

namespace statx_direct {
// From include/uapi/linux/stat.h. Read by position, because the C library's struct may be older than the kernel.
inline constexpr unsigned dioalign = 0x2000;         // STATX_DIOALIGN, Linux 6.1
inline constexpr unsigned dio_read_align = 0x20000;  // STATX_DIO_READ_ALIGN, Linux 6.14
inline constexpr unsigned write_atomic = 0x10000;    // STATX_WRITE_ATOMIC, Linux 6.11
inline constexpr std::size_t at_memory = 0x98, at_offset = 0x9c, at_read_offset = 0xb4;
inline constexpr std::size_t at_untorn_min = 0xa8, at_untorn_max = 0xac;  // stx_atomic_write_unit_min, _max
inline constexpr std::size_t at_untorn_optimal = 0xb8;                    // stx_atomic_write_unit_max_opt, Linux 6.16

inline std::uint32_t field(const struct statx& status, std::size_t position) noexcept {
  static_assert(sizeof(struct statx) == 256);
  std::uint32_t value;
  std::memcpy(&value, reinterpret_cast<const char*>(&status) + position, sizeof value);
  return value;
}
}  // namespace statx_direct

// As in <sys/sysmacros.h>, which would define `major` and `minor` as macros for every user of this library.
constexpr unsigned major_number(dev_t device) noexcept {
  return static_cast<unsigned>(((device >> 8) & 0xfff) | ((device >> 32) & ~dev_t(0xfff)));
}
constexpr unsigned minor_number(dev_t device) noexcept {
  return static_cast<unsigned>((device & 0xff) | ((device >> 12) & ~dev_t(0xff)));
}

/// A number that sysfs reports for the queue of a block device. Nothing if there is no such device: btrfs, overlay and
/// NFS have none of their own. The queue of a partition is one level up.
inline std::optional<unsigned> queue_attribute(dev_t device, const char* attribute) noexcept {
  for (const char* pattern : {"/sys/dev/block/%u:%u/queue/%s", "/sys/dev/block/%u:%u/../queue/%s"}) {
    char name[96];
    std::snprintf(name, sizeof name, pattern, major_number(device), minor_number(device), attribute);
    std::FILE* const file = std::fopen(name, "re");
    if (file == nullptr) continue;
    unsigned value = 0;
    const bool found = std::fscanf(file, "%u", &value) == 1;
    std::fclose(file);
    if (found) return value;
  }
  return std::nullopt;
}

/// Size of a block device's logical block in bytes; 0 if unknown.
inline std::uint32_t logical_block_size(dev_t device) noexcept {
  const unsigned bytes = queue_attribute(device, "logical_block_size").value_or(0);
  return std::has_single_bit(bytes) ? bytes : 0;
}

/// Whether O_DIRECT is known to bypass the page cache on a file system that has no device of its own and reports no
/// alignment.
inline bool is_known_to_be_direct(const struct statfs& system) noexcept {
  switch (type_of(system)) {
    case file_system_type::btrfs:  // except compressed and, for writes since Linux 6.15, checksummed files
    case file_system_type::nfs:
    case file_system_type::smb2:
    case file_system_type::ceph:
    case file_system_type::bcachefs: return true;
    // Since 6.6, tmpfs accepts O_DIRECT, and so does an overlay over it. Before, whatever an overlay accepted was
    // direct.
    case file_system_type::overlay: return kernel_is_older_than(6, 6);
    default: return false;
  }
}

/// All 0 if the kernel (before 6.11) or the file system reports none.
inline atomic_write_limits atomic_write_limits_in(const struct statx& status) noexcept {
  if ((status.stx_mask & statx_direct::write_atomic) == 0) return {};
  const std::uint32_t smallest = statx_direct::field(status, statx_direct::at_untorn_min);
  const std::uint32_t largest = statx_direct::field(status, statx_direct::at_untorn_max);
  const std::uint32_t optimal = statx_direct::field(status, statx_direct::at_untorn_optimal);
  if (smallest == 0 || largest == 0) return {};
  return {smallest, largest, optimal != 0 ? optimal : largest};
}

/// What statx(2) reports; nothing if the kernel (before 6.1) or the file system does not support it.
inline std::optional<direct_support> ask_statx(native_handle handle) {
  struct statx status {};
  const unsigned wanted =
      STATX_BASIC_STATS | statx_direct::dioalign | statx_direct::dio_read_align | statx_direct::write_atomic;
  if (::statx(handle, "", AT_EMPTY_PATH, wanted, &status) != 0) return std::nullopt;
  if ((status.stx_mask & statx_direct::dioalign) == 0) return std::nullopt;
  const std::uint32_t memory = statx_direct::field(status, statx_direct::at_memory);
  const std::uint32_t offset = statx_direct::field(status, statx_direct::at_offset);
  if (memory == 0 || offset == 0) return direct_support{errc::direct_not_supported, {}, {}};
  const bool reads_differ = (status.stx_mask & statx_direct::dio_read_align) != 0;
  const std::uint32_t read_offset = reads_differ ? statx_direct::field(status, statx_direct::at_read_offset) : 0;
  return direct_support{
      {}, {memory, read_offset != 0 ? read_offset : offset, offset}, "statx", atomic_write_limits_in(status)};
}

inline direct_support find_direct_support(native_handle handle) {
  struct stat status;
  struct statfs system;
  if (::fstat(handle, &status) != 0 || ::fstatfs(handle, &system) != 0) return {last_error(), {}, {}};
  const auto type = type_of(system);
  if (S_ISCHR(status.st_mode)) return {errc::direct_to_character_device, {}, {}};
  const bool is_device = S_ISBLK(status.st_mode);  // its node is in a tmpfs, the device itself is not
  if (!is_device &&
      (type == file_system_type::tmpfs || type == file_system_type::ramfs || type == file_system_type::hugetlbfs))
    return {errc::direct_in_memory, {}, {}};  // yet they accept O_DIRECT (tmpfs since Linux 6.6)

  if (auto answer = ask_statx(handle)) return *std::move(answer);

  // XFS_IOC_DIOINFO (xfs_fs.h): memory alignment, smallest and largest transfer.
  struct {
    std::uint32_t memory, smallest, largest;
  } xfs{};
  if (type == file_system_type::xfs && ::ioctl(handle, _IOR('X', 30, xfs), &xfs) == 0)
    return {{}, {xfs.memory, xfs.smallest, xfs.smallest}, "XFS_IOC_DIOINFO"};

  const std::uint32_t block = logical_block_size(is_device ? status.st_rdev : status.st_dev);
  if (block != 0) return {{}, {block, block, block}, "logical block size of the device"};

  if (!is_known_to_be_direct(system)) return {errc::direct_unknown, {}, {}};
  const std::uint32_t assumed = std::bit_ceil(
      static_cast<std::uint32_t>(detail::lesser_of<long>(detail::greater_of<long>(status.st_blksize, 512), 4096)));
  return {{}, {assumed, assumed, assumed}, "assumed: the file system does not say"};
}

/// Switches a file that is being opened to direct I/O, if available; one that the program opened must be direct
/// already. Uses fcntl(2), not a flag of open(2), so that the outcome is known before anything is truncated or
/// replaced.
inline direct_support make_direct(const opening& file) {
  direct_support found = find_direct_support(file.handle());
  if (found.refusal.exists()) return found;
  const int flags = ::fcntl(file.handle(), F_GETFL);
  if (file.is_foreign()) {
    if ((flags & O_DIRECT) == 0) found.refusal = errc::handle_is_not_direct;
    return found;
  }
  if (flags < 0 || ::fcntl(file.handle(), F_SETFL, flags | O_DIRECT) != 0) found.refusal = errc::direct_not_supported;
  return found;
}

}  // namespace platform
QIO_END_NAMESPACE
