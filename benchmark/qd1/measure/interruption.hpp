// SPDX-License-Identifier: BSL-1.0
// Ctrl-C: the series under way ends, and what there is gets written.
#pragma once

#include <csignal>

namespace qd1 {

namespace detail {
inline volatile std::sig_atomic_t interrupt_requested = 0;
}

/// From here on, the first interrupt is a request; the second ends the process.
inline void heed_interrupts() {
  std::signal(SIGINT, [](int number) {
    detail::interrupt_requested = 1;
    std::signal(number, SIG_DFL);
  });
}

inline bool interrupted() noexcept { return detail::interrupt_requested != 0; }

}  // namespace qd1
