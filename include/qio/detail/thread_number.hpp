// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <atomic>
#include <cstdint>

namespace qio::detail {

/// A number of the calling thread that no other thread of this process has or will have, other than std::thread::id,
/// which is used again. Never 0.
inline std::uint64_t this_thread_number() noexcept {
  static constinit std::atomic<std::uint64_t> last = 0;
  static constinit thread_local std::uint64_t number = 0;
  if (number == 0) number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace qio::detail
