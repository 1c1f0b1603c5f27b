// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <atomic>
#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::detail {

inline constinit thread_local std::uint64_t thread_number = 0;  // 0: not given yet

/// The number of the calling thread. No other thread of this process has or will ever have the same one, unlike
/// std::thread::id, which is reused. Never 0.
inline std::uint64_t this_thread_number() noexcept {
  static constinit std::atomic<std::uint64_t> last = 0;
  if (thread_number == 0) thread_number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_number;
}

/// Whether `number` is this_thread_number() of the calling thread.
inline bool is_this_thread(std::uint64_t number) noexcept { return number == thread_number; }

}  // namespace qio::inline QIO_CONFIGURATION::detail
