// SPDX-License-Identifier: BSL-1.0
// Writing into the page cache: on which files this is normally only a copy, and how to detect that it was not.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/linux/transfer.hpp>
#include <qio/system/posix/handle.hpp>

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Whether buffered writes to a file system normally end in memory. Other file systems may contact a server (NFS, FUSE)
/// or are unknown.
inline bool writes_end_in_memory(const struct statfs& system) noexcept {
  switch (static_cast<unsigned long>(system.f_type)) {
    case EXT4_SUPER_MAGIC:  // also ext2 and ext3
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    default: return false;
  }
}

/// Whether the process currently has a limit on the size of files. A write past it raises SIGXFSZ on the thread that
/// makes it, which by default ends the process. On a worker thread or a ring, such a write only fails with EFBIG.
inline bool has_file_size_limit() noexcept {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// Why writes to an open file should not run on a thread that must not wait; null if they may.
inline const char* why_writes_wait(native_handle handle) noexcept {
  struct stat status;
  struct statfs system;
  if (::fstat(handle, &status) != 0 || ::fstatfs(handle, &system) != 0 || !S_ISREG(status.st_mode))
    return "not a regular file";
  if (!writes_end_in_memory(system)) return "it is not known that writes to this file system end in memory";
  if ((static_cast<unsigned long>(system.f_flags) & ST_SYNCHRONOUS) != 0)
    return "the file system is mounted with the option sync";
  if (has_file_size_limit()) return "the process has a limit on the size of files";
  return nullptr;
}

/// Whether the page that begins at `offset` can be modified without being read first: it is in the page cache, or past
/// the end of the file. False if unknown, as for a file that is not open for reading.
inline bool page_needs_no_read(native_handle handle, std::uint64_t offset) noexcept {
  char byte;
  const detail::piece first{offset, nullptr, 0, {&byte, 1}};
  return read_without_waiting(handle, first) >= 0;
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
