// SPDX-License-Identifier: BSL-1.0
// Loaded before the C library (LD_PRELOAD), it makes a program's clock go as many times as fast as CLOCK_SPEED says.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

extern "C" int clock_gettime(clockid_t which, timespec* now) {
  static const double speed = std::atof(std::getenv("CLOCK_SPEED"));
  constexpr double second = 1e9;
  const long answer = ::syscall(SYS_clock_gettime, which, now);
  if (answer != 0 || which != CLOCK_MONOTONIC) return static_cast<int>(answer);
  static const timespec first = *now;
  const double passed =
      static_cast<double>(now->tv_sec - first.tv_sec) * second + static_cast<double>(now->tv_nsec - first.tv_nsec);
  const auto shown = static_cast<long long>(passed * speed) + first.tv_nsec;
  now->tv_sec = first.tv_sec + static_cast<time_t>(shown / static_cast<long long>(second));
  now->tv_nsec = static_cast<long>(shown % static_cast<long long>(second));
  return 0;
}
