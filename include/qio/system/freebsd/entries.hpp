// SPDX-License-Identifier: BSL-1.0
// Reading directories by getdirentries(2).
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/bsd/entries.hpp>
#include <qio/system/posix/entries.hpp>
#include <qio/system/posix/handle.hpp>

#include <dirent.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

struct kernel_entries {
  using entry = struct dirent;
  static ssize_t read(native_handle directory, std::byte* memory, std::size_t bytes) noexcept {
    return ::getdirentries(directory, reinterpret_cast<char*>(memory), bytes, nullptr);
  }
  static bool is_entry(const entry& found) noexcept { return found.d_fileno != 0; }  // of a removed file
  static std::uint64_t inode_of(const entry& found) noexcept { return found.d_fileno; }
};
using entry_list = kernel_entry_list<kernel_entries>;

}  // namespace platform
QIO_END_NAMESPACE
