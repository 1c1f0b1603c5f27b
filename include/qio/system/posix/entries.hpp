// SPDX-License-Identifier: BSL-1.0
// Reading directories, and removing what is in them, by handles that no rename can lead elsewhere.
#pragma once

#include <qio/configuration.hpp>
#include <qio/file_status.hpp>
#include <qio/path.hpp>
#include <qio/result.hpp>
#include <qio/system/posix/entry.hpp>
#include <qio/system/posix/handle.hpp>
#include <qio/system/posix/primitives.hpp>
#include <qio/system/posix/status.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>
#include <string>
#include <string_view>

QIO_BEGIN_NAMESPACE
namespace platform {

// --- The entries of a directory ---

/// Reads the entries of a directory in batches, into memory that it allocates once. `Kernel` has the layout of an
/// entry, `entry`; `read(handle, memory, bytes)`, the system call; `is_entry(each)`, whether one is more than a gap;
/// and `inode_of(each)`.
template <class Kernel>
class kernel_entry_list {
 public:
  /// How many bytes of entries the kernel returns at most per call, and how many entries these can be.
  static constexpr std::size_t kernel_bytes = 32768, smallest = 24, most = kernel_bytes / smallest;

  kernel_entry_list() : memory_(new std::byte[kernel_bytes + most * sizeof(qio::directory_entry)]) {}

  /// The next entries, without "." and ".."; none at the end. Valid until the next call.
  result<std::span<const qio::directory_entry>> next(native_handle directory) noexcept {
    for (;;) {
      ssize_t bytes;
      do bytes = Kernel::read(directory, memory_.get(), kernel_bytes);
      while (bytes < 0 && errno == EINTR);
      if (bytes < 0 && errno != ENOENT) return last_error();
      if (bytes <= 0) return std::span<const qio::directory_entry>();  // ENOENT: the directory has been removed
      std::size_t count = 0;
      if (!take(static_cast<std::size_t>(bytes), count)) return system_error(EIO);
      if (count != 0) return std::span<const qio::directory_entry>(first(), count);
    }
  }

  /// The next batch is the first again, of the directory as it is by then.
  static result<void> rewind(native_handle directory) noexcept {
    if (::lseek(directory, 0, SEEK_SET) < 0) return last_error();
    return success();
  }

 private:
  qio::directory_entry* first() noexcept {
    return reinterpret_cast<qio::directory_entry*>(memory_.get() + kernel_bytes);
  }

  // False if a name is none. Linux has checked names since 5.4; before, a server or a damaged disk could lead a program
  // elsewhere by a slash.
  bool take(std::size_t bytes, std::size_t& count) noexcept {
    static_assert(kernel_bytes % alignof(qio::directory_entry) == 0);
    for (std::size_t at = 0; at < bytes;) {
      const auto* const found = reinterpret_cast<const typename Kernel::entry*>(memory_.get() + at);
      at += found->d_reclen;
      const std::string_view name(found->d_name);
      if (name == "." || name == ".." || !Kernel::is_entry(*found)) continue;
      if (name.empty() || name.find('/') != std::string_view::npos) return false;
      const std::uint32_t mode = std::uint32_t{found->d_type} << 12;  // DTTOIF of dirent.h
      new (first() + count) qio::directory_entry{name, type_of(mode), Kernel::inode_of(*found)};
      ++count;
    }
    return true;
  }

  std::unique_ptr<std::byte[]> memory_;
};

/// Flags for a directory that will be read.
inline constexpr int for_listing = O_RDONLY | O_DIRECTORY | O_CLOEXEC;

/// The caller owns the handle.
inline result<native_handle> open_listing(path_view path, native_handle beneath) noexcept {
  return open_at(beneath, path.c_str(), for_listing);
}
/// The same of a directory that is open for searching only.
inline result<native_handle> open_listing_of(native_handle directory) noexcept {
  return open_from(directory, ".", for_listing);
}

/// The status of an entry; a symbolic link is not followed.
inline result<file_status> status_of_entry(native_handle directory, const char* name) noexcept {
  return status_at(directory, name, AT_SYMLINK_NOFOLLOW);
}

// --- Trees ---

/// Whether open_parent() exists. If not, the directories on the way to an open one stay open.
inline constexpr bool opens_parents = true;

/// A directory that is an entry of another. Fails with std::errc::not_a_directory for anything else, links included.
inline result<native_handle> open_child(native_handle directory, const char* name) noexcept {
  const auto opened = open_from(directory, name, for_listing | O_NOFOLLOW);
  if (!opened && opened.error() == std::errc::too_many_symbolic_link_levels) return system_error(ENOTDIR);
  return opened;
}

/// The directory that an open one is in.
inline result<native_handle> open_parent(native_handle directory) noexcept {
  return open_from(directory, "..", for_listing | O_NOFOLLOW);
}

struct directory_identity {
  file_id id;
  bool is_mount_root = false;  ///< of an open entry whose directory is on `parent_device`
};

/// Removes an entry: a directory, which must be empty, or anything else. Fails with std::errc::is_a_directory or
/// not_a_directory if it is the other.
inline result<void> remove_entry(native_handle directory, const char* name, bool is_directory) noexcept {
  while (::unlinkat(directory, name, is_directory ? AT_REMOVEDIR : 0) != 0)
    if (errno != EINTR) return last_error();
  return success();
}

/// The entry that is the root of a tree, and the directory that it is in.
using tree_root = directory_entry;

/// A path that ends with a slash must lead to a directory.
inline result<tree_root> find_root(path_view path, native_handle beneath, bool& is_directory) {
  std::string name = path.c_str();
  is_directory = name.ends_with('/');
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  auto found = find_entry(beneath, name);
  // A directory cannot be removed by these names (rmdir(2), EINVAL, ENOTEMPTY, EBUSY).
  if (found && found.value().name == ".") return system_error(EINVAL);
  return found;
}

}  // namespace platform
QIO_END_NAMESPACE
