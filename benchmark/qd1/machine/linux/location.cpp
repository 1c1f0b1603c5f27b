// SPDX-License-Identifier: BSL-1.0
// statx(2), statvfs(3).
#include <fcntl.h>
#include <qd1/machine/linux/location.hpp>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <filesystem>
#include <string>
#include <system_error>

namespace qd1::linux_system {
namespace {

// Since a file of a benchmark may be made only later.
std::filesystem::path nearest_existing(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path each = std::filesystem::absolute(path, error);
  while (!std::filesystem::exists(each, error) && each.has_relative_path()) each = each.parent_path();
  const std::filesystem::path real = std::filesystem::canonical(each, error);
  return error ? each : real;
}

std::string number(unsigned major, unsigned minor) { return std::to_string(major) + ':' + std::to_string(minor); }

std::optional<bool> attribute(const struct statx& status, std::uint64_t flag) {
  if ((status.stx_attributes_mask & flag) == 0) return std::nullopt;
  return (status.stx_attributes & flag) != 0;
}

void find_space(location& found) {
  struct statvfs space;
  if (::statvfs(found.path.c_str(), &space) != 0) return;
  found.block_bytes = space.f_bsize;
  if (space.f_blocks == 0) return;  // those that have none of their own, as /proc
  found.size_bytes = std::uint64_t{space.f_blocks} * space.f_frsize;
  found.free_bytes = std::uint64_t{space.f_bavail} * space.f_frsize;
}

}  // namespace

location locate(const std::string& path) {
  location found;
  found.path = nearest_existing(path).string();
  struct statx status {};
  if (::statx(AT_FDCWD, found.path.c_str(), 0, STATX_BASIC_STATS | STATX_MNT_ID, &status) != 0) return found;
  found.block_device = S_ISBLK(status.stx_mode);
  if (found.block_device) {
    found.device = number(status.stx_rdev_major, status.stx_rdev_minor);
    return found;
  }
  found.device = number(status.stx_dev_major, status.stx_dev_minor);
  if ((status.stx_mask & STATX_MNT_ID) != 0) found.mount_id = status.stx_mnt_id;
  found.compressed = attribute(status, STATX_ATTR_COMPRESSED);
  found.encrypted = attribute(status, STATX_ATTR_ENCRYPTED);
  find_space(found);
  return found;
}

}  // namespace qd1::linux_system
