// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

namespace qio::inline QIO_CONFIGURATION::platform {

/// For use in a loop that waits for memory to change: hints to the CPU to yield to its other hardware thread.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
