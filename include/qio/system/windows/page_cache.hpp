// SPDX-License-Identifier: BSL-1.0
// Writing into the system's cache on the caller's thread. Not attempted on Windows: a completion port does this by
// itself.
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/handle.hpp>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// Why writes to an open file should not run on a thread that must not wait; null if they may.
inline const char* why_writes_wait(native_handle) noexcept {
  return "when the engine starts a write, Windows completes it at once if it can";
}

/// Always false: Windows has no per-process limit on the size of files.
inline bool has_file_size_limit() noexcept { return false; }

/// Whether the page that begins at `offset` can be modified without being read first. Always false, because Windows
/// does not report it.
inline bool page_needs_no_read(native_handle, std::uint64_t) noexcept { return false; }

/// The number of context switches of a thread, which Windows does not report.
struct thread_switches {
  long voluntary = 0;
  long involuntary = 0;
};
inline thread_switches switches_of_this_thread() noexcept { return {}; }

}  // namespace qio::inline QIO_CONFIGURATION::platform
