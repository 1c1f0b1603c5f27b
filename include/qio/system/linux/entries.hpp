// SPDX-License-Identifier: BSL-1.0
// Reading directories by getdents64(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/result.hpp>
#include <qio/system/linux/directory.hpp>
#include <qio/system/linux/status.hpp>
#include <qio/system/posix/entries.hpp>
#include <qio/system/posix/handle.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The entries of a directory ---

struct kernel_entries {
  /// As getdents(2) has it; no header does.
  struct entry {
    std::uint64_t d_ino;
    std::int64_t d_off;
    std::uint16_t d_reclen;
    std::uint8_t d_type;
    char d_name[1];  // and what follows, to a zero
  };
  // glibc has had a function for it since 2.30.
  static ssize_t read(native_handle directory, std::byte* memory, std::size_t bytes) noexcept {
    return ::syscall(SYS_getdents64, directory, memory, bytes);
  }
  static bool is_entry(const entry&) noexcept { return true; }
  static std::uint64_t inode_of(const entry& found) noexcept { return found.d_ino; }
};
using entry_list = kernel_entry_list<kernel_entries>;

// --- Trees ---

inline result<directory_identity> identify(native_handle directory, std::uint64_t parent_device) noexcept {
  struct statx found {};
  if (const int failure = ask_status(directory, "", AT_EMPTY_PATH, found); failure != 0) return system_error(failure);
  directory_identity identity{id_of(found), (found.stx_attributes & is_mount_root) != 0};
  // Before Linux 5.8; a bind mount of the same file system goes unnoticed there.
  if ((found.stx_attributes_mask & is_mount_root) == 0) identity.is_mount_root = identity.id.device != parent_device;
  return identity;
}

}  // namespace platform
QIO_END_NAMESPACE
