// SPDX-License-Identifier: BSL-1.0
// The types of file systems.
#pragma once

#include <qio/configuration.hpp>

#include <sys/vfs.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// What statfs(2) reports. The headers of older systems lack some.
enum class file_system_type : std::uint32_t {
  bcachefs = 0xca451a4e,
  btrfs = 0x9123683e,
  ceph = 0x00c36400,
  ext = 0xef53,  ///< ext2 to ext4
  fuse = 0x65735546,
  hugetlbfs = 0x958458f6,
  nfs = 0x6969,
  overlay = 0x794c7630,
  proc = 0x9fa0,
  ramfs = 0x858458f6,
  smb2 = 0xfe534d42,
  tmpfs = 0x01021994,
  xfs = 0x58465342,
};

inline file_system_type type_of(const struct statfs& found) noexcept {
  return static_cast<file_system_type>(found.f_type);
}

}  // namespace platform
QIO_END_NAMESPACE
