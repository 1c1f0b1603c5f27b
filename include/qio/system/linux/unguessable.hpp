// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <qio/configuration.hpp>

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace qio::inline QIO_CONFIGURATION::platform {

/// A number that nobody else can predict, for names that nobody else can have taken. If a sandbox forbids getrandom(2),
/// uses the clock, the process ID and an address instead.
inline std::uint64_t unguessable_number() noexcept {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) == sizeof number) return number;
  struct timespec now {};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  number = static_cast<std::uint64_t>(now.tv_nsec) ^ static_cast<std::uint64_t>(::getpid()) << 32 ^
           reinterpret_cast<std::uintptr_t>(&number);
  number = (number ^ number >> 30) * 0xbf58476d1ce4e5b9u;  // the finalizer of splitmix64
  number = (number ^ number >> 27) * 0x94d049bb133111ebu;
  return number ^ number >> 31;
}

}  // namespace qio::inline QIO_CONFIGURATION::platform
