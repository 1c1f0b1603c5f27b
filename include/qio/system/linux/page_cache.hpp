// SPDX-License-Identifier: BSL-1.0
// Transfers through the page cache: on which files they are normally only copies, and how to detect that one was not.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/linux/transfer.hpp>
#include <qio/system/posix/handle.hpp>

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstdint>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546  // missing in the headers of Ubuntu 22.04
#endif

namespace qio::inline QIO_CONFIGURATION::platform {

/// Whether the process currently has a limit on the size of files. A write past it raises SIGXFSZ on the thread that
/// makes it, which by default ends the process. On a worker thread or a ring, such a write only fails with EFBIG.
inline bool has_file_size_limit() noexcept {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// Where the data of an open file is, and so whether a thread that must not wait may transfer it.
class file_storage {
 public:
  /// Asks the file system, which may wait (FUSE, NFS).
  explicit file_storage(native_handle handle) noexcept {
    struct stat file {};
    struct statfs system {};
    is_known_ = ::fstat(handle, &file) == 0 && ::fstatfs(handle, &system) == 0;
    device_ = file.st_dev;
    is_regular_ = S_ISREG(file.st_mode);
    type_ = static_cast<unsigned long>(system.f_type);
    is_synchronous_ = (static_cast<unsigned long>(system.f_flags) & ST_SYNCHRONOUS) != 0;
  }

  /// Why buffered reads may wait although the file system does not say so; null if they rarely do. `on_any`: also on
  /// file systems whose transfers are not known to end in memory.
  const char* why_reads_wait(bool on_any) const noexcept {
    if (!is_known_) return "the system does not say which file system this is (fstatfs)";
    if (!is_regular_) return "not a regular file";
    if (!on_any && !ends_in_memory()) return "it is not known that transfers of this file system end in memory";
    return nullptr;
  }

  /// The same for writes.
  const char* why_writes_wait(bool on_any) const noexcept {
    if (const char* const why = why_reads_wait(on_any)) return why;
    if (is_synchronous_) return "the file system is mounted with the option sync";
    if (has_file_size_limit()) return "the process has a limit on the size of files";
    return nullptr;
  }

  /// Whether opening and closing the file rarely wait: see why_reads_wait().
  bool opens_at_once(bool on_any) const noexcept { return why_reads_wait(on_any) == nullptr; }

  /// Whether a sync has nothing to do, since there is no device.
  bool is_memory() const noexcept { return is_known_ && type_ == TMPFS_MAGIC; }

  /// A number of the file system.
  std::uint64_t device() const noexcept { return device_; }

  /// Whether a ring would carry out a transfer on the thread that submits it, and let it wait. Files of FUSE can be
  /// polled, and always say that they are ready; so the kernel takes transfers for ones that do not wait (seen on Linux
  /// 6.18). True also if it is not known.
  bool waits_in_submission() const noexcept { return !is_known_ || type_ == FUSE_SUPER_MAGIC; }

 private:
  // Other file systems may contact a server (NFS, FUSE) or are unknown. Those of an overlay end in memory if those of
  // its layers do, which the system does not report.
  bool ends_in_memory() const noexcept {
    switch (type_) {
      case EXT4_SUPER_MAGIC:  // also ext2 and ext3
      case XFS_SUPER_MAGIC:
      case BTRFS_SUPER_MAGIC:
      case TMPFS_MAGIC:
      case OVERLAYFS_SUPER_MAGIC: return true;
      default: return false;
    }
  }

  std::uint64_t device_;
  unsigned long type_;
  bool is_known_;
  bool is_regular_;
  bool is_synchronous_;
};

/// Whether closing the file may free its blocks: it has no name any more.
inline bool is_removed(native_handle handle) noexcept {
  struct stat file;
  return ::fstat(handle, &file) != 0 || file.st_nlink == 0;
}

/// Whether a page can be modified without being read first: it is in the page cache, or past the end of the file.
enum class page_state : std::uint8_t { at_hand, elsewhere, unknown };

/// That of the page that begins at `offset`. Unknown if the file is not open for reading, or its file system cannot
/// tell.
inline page_state state_of_page(native_handle handle, std::uint64_t offset) noexcept {
  char byte;
  const detail::piece first{offset, nullptr, 0, {&byte, 1}};
  const detail::raw_result answer = read_without_waiting(handle, first);
  if (answer >= 0) return page_state::at_hand;
  return answer == -EBADF || answer == -EOPNOTSUPP ? page_state::unknown : page_state::elsewhere;
}

/// The number of context switches of a thread.
struct thread_switches {
  long voluntary = 0;    ///< to wait for something
  long involuntary = 0;  ///< preempted by another thread
};
inline thread_switches switches_of_this_thread() noexcept {
  struct rusage usage {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
