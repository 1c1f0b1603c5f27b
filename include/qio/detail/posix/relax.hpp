// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace qio::platform {

/// In a loop that waits for memory to change: tells the processor, which slows down in favour of its other thread.
inline void relax() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("yield");
#endif
}

}  // namespace qio::platform
