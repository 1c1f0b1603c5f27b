// SPDX-License-Identifier: BSL-1.0
// Transfers through the system's cache on the caller's thread. Not attempted on Windows: a completion port does this by
// itself.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/handle.hpp>
#include <qio/system/windows/valid_data.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Which file system a file is on.
struct file_place {
  std::uint64_t device = 0;
};

/// Where the data of an open file is, and so whether a thread that must not wait may transfer it.
class file_storage {
 public:
  explicit file_storage(native_handle handle) noexcept : is_transformed_(platform::is_transformed(handle)) {}

  static const char* why_reads_wait(bool) noexcept {
    return "when the engine starts a read, Windows completes it at once if it can";
  }
  static const char* why_writes_wait(bool) noexcept {
    return "when the engine starts a write, Windows completes it at once if it can";
  }
  static bool opens_at_once(bool) noexcept { return false; }  // Windows does not tell
  static file_place place() noexcept { return {}; }
  static bool is_memory() noexcept { return false; }
  /// NTFS transfers compressed and encrypted files synchronously, so the engine leaves that to its workers.
  bool waits_in_submission() const noexcept { return is_transformed_; }

 private:
  bool is_transformed_;
};

/// Windows drops no pages on request.
inline void drop_cached_pages(native_handle) noexcept {}

/// Whether closing the file may free its blocks: it has no name any more.
inline bool is_removed(native_handle) noexcept { return true; }

/// When a file last changed: 0, since no sync is attempted inline.
inline std::int64_t settled_change_time(native_handle) noexcept { return 0; }

/// Always false: Windows has no per-process limit on the size of files.
inline bool has_file_size_limit() noexcept { return false; }

/// Whether a page can be modified without being read first, which Windows does not report.
enum class page_state : std::uint8_t { at_hand, elsewhere, unknown };
inline page_state state_of_page(native_handle, std::uint64_t) noexcept { return page_state::unknown; }

/// The number of context switches of a thread, which Windows does not report.
struct thread_switches {
  long voluntary = 0;
  long involuntary = 0;
};
inline thread_switches switches_of_this_thread() noexcept { return {}; }

}  // namespace qio::inline QIO_CONFIGURATION::platform
