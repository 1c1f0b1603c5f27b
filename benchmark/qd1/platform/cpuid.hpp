// SPDX-License-Identifier: BSL-1.0
// What an x86 processor reports about itself through its instruction CPUID.
#pragma once

#include <optional>

#if defined(_MSC_VER)
#include <intrin.h>
#endif

namespace qd1::platform {

struct cpuid_registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};

#if defined(_MSC_VER) && (defined(_M_X64) || defined(_M_IX86))

inline cpuid_registers cpuid_unchecked(unsigned leaf) noexcept {
  int found[4];
  __cpuid(found, static_cast<int>(leaf));
  return {static_cast<unsigned>(found[0]), static_cast<unsigned>(found[1]), static_cast<unsigned>(found[2]),
          static_cast<unsigned>(found[3])};
}

#elif defined(__x86_64__) || defined(__i386__)

// Not by <cpuid.h>, whose macro __cpuid does not go with MinGW's <intrin.h>.
inline cpuid_registers cpuid_unchecked(unsigned leaf) noexcept {
  cpuid_registers found;
  __asm__("cpuid" : "=a"(found.a), "=b"(found.b), "=c"(found.c), "=d"(found.d) : "0"(leaf), "2"(0));
  return found;
}

#else

inline cpuid_registers cpuid_unchecked(unsigned) noexcept { return {}; }

#endif

/// None where the processor has no such leaf, or is of another architecture. Hypervisors' leaves (0x40000000 and on)
/// are not counted by the processor: the caller must know that the requested one exists.
inline std::optional<cpuid_registers> cpuid(unsigned leaf) noexcept {
  const bool of_hypervisor = (leaf >> 28) == 4;
  if (!of_hypervisor && cpuid_unchecked(leaf & 0x80000000).a < leaf) return std::nullopt;
  return cpuid_unchecked(leaf);
}

}  // namespace qd1::platform
