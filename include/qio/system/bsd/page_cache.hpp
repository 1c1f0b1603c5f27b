// SPDX-License-Identifier: BSL-1.0
// Transfers through the page cache on the context's thread: not attempted here, because neither macOS nor FreeBSD
// reports whether one would wait, or whether one has waited.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/posix/handle.hpp>

#include <sys/resource.h>
#include <sys/stat.h>

#include <cstdint>

QIO_BEGIN_NAMESPACE
namespace platform {

/// Which file system a file is on.
struct file_place {
  std::uint64_t device = 0;
};

/// Where the data of an open file is, and so whether a thread that must not wait may transfer it.
class file_storage {
 public:
  explicit file_storage(native_handle) noexcept {}

  static const char* why_reads_wait(bool) noexcept {
    return "the system has no read of a file that fails instead of waiting";
  }
  static const char* why_writes_wait(bool) noexcept {
    return "the system has no write to a file that fails instead of waiting";
  }
  static bool opens_at_once(bool) noexcept { return false; }
  static file_place place() noexcept { return {}; }
  static bool is_memory() noexcept { return false; }
  static bool is_open_to_others() noexcept { return true; }  // matters only where writes are attempted
  static bool copies_on_open() noexcept { return false; }
  static bool waits_in_submission() noexcept { return false; }
  static bool waits_after_miss() noexcept { return false; }
};

/// Whether closing the file may free its blocks: it has no name any more.
inline bool is_removed(native_handle handle) noexcept {
  struct stat file;
  return ::fstat(handle, &file) != 0 || file.st_nlink == 0;
}

/// Whether the process currently has a limit on the size of files that is less than `below`. A write past it raises
/// SIGXFSZ on the thread that makes it.
inline bool has_file_size_limit(rlim_t below = RLIM_INFINITY) noexcept {
  struct rlimit limit;
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < below;
}

/// Whether a write that ends at `end` passes that limit, which regular files have.
inline bool passes_size_limit(native_handle handle, std::uint64_t end) noexcept {
  struct stat file;
  return has_file_size_limit(static_cast<rlim_t>(end)) && ::fstat(handle, &file) == 0 && S_ISREG(file.st_mode);
}

/// Whether a page can be modified without being read first. Not asked, because no write is attempted.
enum class page_state : std::uint8_t { at_hand, elsewhere, unknown };
inline page_state state_of_page(native_handle, std::uint64_t) noexcept { return page_state::unknown; }

/// The number of context switches of a thread. Not asked, because no transfer is attempted.
struct thread_switches {
  long voluntary = 0;
  long involuntary = 0;
};
inline thread_switches switches_of_this_thread() noexcept { return {}; }

// --- Known file systems ---
//
// File systems that a context has opened files on. None is remembered, because no open or close is attempted inline.

class known_file_systems {
 public:
  static void remember(const file_storage&) noexcept {}
  static const file_storage* find(const file_place&) noexcept { return nullptr; }
};

}  // namespace platform
QIO_END_NAMESPACE
