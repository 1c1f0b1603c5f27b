// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>
#include <qio/system/windows/calls.hpp>

#include <cstdint>

#if defined(_MSC_VER)
#pragma comment(lib, "advapi32")
#endif

namespace qio::inline QIO_CONFIGURATION::platform {

// RtlGenRandom, which <ntsecapi.h> maps to this name by a macro.
extern "C" BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG bytes);

/// A number that nobody else can predict, for names that nobody else can have taken.
inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number = 0;
  if (SystemFunction036(&number, sizeof number) != 0) return number;
  LARGE_INTEGER now;  // never fails, according to its documentation
  ::QueryPerformanceCounter(&now);
  return static_cast<std::uint64_t>(now.QuadPart) * 0x9e3779b97f4a7c15u ^ ::GetCurrentProcessId();
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
