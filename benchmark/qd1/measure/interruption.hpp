// SPDX-License-Identifier: BSL-1.0
// Ctrl-C and the other requests to end a process: the current series ends, and what was measured is written.
#pragma once

#include "platform/process.hpp"

#include <atomic>

namespace qd1 {

namespace detail {
inline std::atomic<bool> interrupt_requested = false;  // without a lock, so that a signal handler may set it
static_assert(std::atomic<bool>::is_always_lock_free);
}  // namespace detail

/// From here on, the first interrupt is a request; the second ends the process.
inline void heed_interrupts() {
  platform::on_first_interrupt([]() noexcept { detail::interrupt_requested.store(true, std::memory_order_relaxed); });
}

inline bool interrupted() noexcept { return detail::interrupt_requested.load(std::memory_order_relaxed); }

}  // namespace qd1
