// SPDX-License-Identifier: BSL-1.0
// Writing into the page cache: on which files that is normally only a copy, and how to learn that it was not.
#pragma once

#include <qio/detail/linux/transfer.hpp>
#include <qio/detail/posix/handle.hpp>

#include <linux/magic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

#include <cstdint>

namespace qio::platform {

/// File systems whose buffered writes normally end in memory. Others may ask a server (NFS, FUSE), or are not known.
inline bool writes_end_in_memory(const struct statfs& system) noexcept {
  switch (static_cast<unsigned long>(system.f_type)) {
    case EXT4_SUPER_MAGIC:  // ext2 and ext3 as well
    case XFS_SUPER_MAGIC:
    case BTRFS_SUPER_MAGIC:
    case TMPFS_MAGIC: return true;
    default: return false;
  }
}

/// Why writes to an open file should not be carried out on a thread that must not wait; null if they may.
inline const char* why_writes_wait(native_handle handle) noexcept {
  struct stat status;
  struct statfs system;
  if (::fstat(handle, &status) != 0 || ::fstatfs(handle, &system) != 0 || !S_ISREG(status.st_mode))
    return "not a regular file";
  if (!writes_end_in_memory(system)) return "it is not known that writes to this file system end in memory";
  if ((static_cast<unsigned long>(system.f_flags) & ST_SYNCHRONOUS) != 0)
    return "the file system is mounted with the option sync";
  // A write past the limit raises SIGXFSZ on the thread that makes it, which by default ends the process. Workers and
  // rings only report EFBIG.
  struct rlimit limit;
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY)
    return "the process has a limit on the size of files";
  return nullptr;
}

/// Whether the page that begins at `offset` can be changed without being read first: it is in the page cache, or past
/// the end of the file. False where that cannot be told, as for files that may not be read.
inline bool page_needs_no_read(native_handle handle, std::uint64_t offset) noexcept {
  char byte;
  const detail::piece first{offset, nullptr, 0, {&byte, 1}};
  return read_without_waiting(handle, first) >= 0;
}

/// How often a thread has left its processor.
struct thread_switches {
  long voluntary = 0;    ///< in order to wait for something
  long involuntary = 0;  ///< in favour of another thread
};
inline thread_switches switches_of_this_thread() noexcept {
  struct rusage usage {};
  ::getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nvcsw, usage.ru_nivcsw};
}

}  // namespace qio::platform
