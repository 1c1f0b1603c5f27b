// SPDX-License-Identifier: BSL-1.0
// The processor's own counter. With cpuid.hpp, the only header that asks which processor and compiler this is.
#pragma once

#include "cpuid.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace qd1::platform {

#if defined(__x86_64__) || defined(_M_X64)

/// Before what is timed: nothing of it begins earlier, nothing before it is still under way.
inline std::uint64_t cycles_before() noexcept {
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
}

/// Call after the timed code: all of it has completed.
inline std::uint64_t cycles_after() noexcept {
  unsigned processor;
  const std::uint64_t now = __rdtscp(&processor);
  _mm_lfence();
  return now;
}

#else

inline std::uint64_t cycles_before() noexcept { return 0; }
inline std::uint64_t cycles_after() noexcept { return 0; }

#endif

/// Whether the counter runs at one rate, whatever the processor's frequency and sleep.
inline bool cycles_are_invariant() noexcept {
  constexpr unsigned power_management = 0x80000007;
  constexpr unsigned invariant_tsc = 1u << 8;
  const auto found = cpuid(power_management);
  return found && (found->d & invariant_tsc) != 0;
}

}  // namespace qd1::platform
