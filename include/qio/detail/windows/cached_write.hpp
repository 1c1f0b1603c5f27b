// SPDX-License-Identifier: BSL-1.0
// Writing into the system's cache on the caller's thread: what is attempted elsewhere a completion port does by itself.
#pragma once

#include <qio/detail/windows/handle.hpp>

#include <cstdint>

namespace qio::platform {

/// Why writes to an open file should not be carried out on a thread that must not wait; null if they may.
inline const char* why_writes_wait(native_handle) noexcept {
  return "Windows itself answers at once what it can, when the engine starts the write";
}

/// Whether the page that begins at `offset` can be changed without being read first. It cannot be told.
inline bool page_needs_no_read(native_handle, std::uint64_t) noexcept { return false; }

/// How often a thread has left its processor: not told for one thread.
struct thread_switches {
  long voluntary = 0;
  long involuntary = 0;
};
inline thread_switches switches_of_this_thread() noexcept { return {}; }

}  // namespace qio::platform
