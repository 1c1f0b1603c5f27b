// SPDX-License-Identifier: BSL-1.0
// The processor's own counter. With cpuid.hpp, the only header that asks which processor and compiler this is.
#pragma once

#include "cpuid.hpp"

#include <cstdint>
#include <string_view>

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

/// Whether the counter runs at one rate, whatever the processor's frequency and sleep.
inline bool cycles_are_invariant() noexcept {
  constexpr unsigned power_management = 0x80000007;
  constexpr unsigned invariant_tsc = 1u << 8;
  const auto found = cpuid(power_management);
  return found && (found->d & invariant_tsc) != 0;
}

inline constexpr std::string_view cycle_counter = "TSC (invariant)";
inline constexpr std::string_view cycle_clock_source =
    "tsc";  // what Linux calls the clock that it makes of the counter

#elif defined(__aarch64__) && defined(__GNUC__)

// The virtual count of the system counter, which runs at one rate in every state of the processor (Arm Architecture
// Reference Manual for A-profile, "The Generic Timer in AArch64 state"). Linux lets user space read it; on processors
// whose counter has an erratum, the kernel carries out the read. An ISB on either side keeps it in program order.

/// Before what is timed: nothing of it begins earlier, nothing before it is still under way.
inline std::uint64_t cycles_before() noexcept {
  std::uint64_t now;
  __asm__ __volatile__("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now) : : "memory");
  return now;
}

/// Call after the timed code: all of it has completed.
inline std::uint64_t cycles_after() noexcept { return cycles_before(); }

inline bool cycles_are_invariant() noexcept { return true; }

inline constexpr std::string_view cycle_counter = "system counter";
inline constexpr std::string_view cycle_clock_source = "arch_sys_counter";

#else

inline std::uint64_t cycles_before() noexcept { return 0; }
inline std::uint64_t cycles_after() noexcept { return 0; }
inline bool cycles_are_invariant() noexcept { return false; }

inline constexpr std::string_view cycle_counter, cycle_clock_source;

#endif

}  // namespace qd1::platform
