// SPDX-License-Identifier: BSL-1.0
// Loaded before the C library (LD_PRELOAD), it makes each positional read and write of a program take longer by as many
// per cent as SLOWER_PERCENT says, waiting awake. With 0 it is in the way just the same, so that two runs differ in
// nothing but the delay. What io_uring does, and copies from mappings, it does not see.
#include <dlfcn.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>

namespace {

double now_ns() noexcept {
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double factor() noexcept {
  const char* const per_cent = std::getenv("SLOWER_PERCENT");
  return 1 + (per_cent == nullptr ? 0 : std::strtod(per_cent, nullptr)) / 100;
}

// The C library's own function of this name.
template <class Call>
Call* original(const char* name) noexcept {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

template <class Call>
ssize_t slowed(Call call) noexcept {
  static const double by = factor();
  const double begin = now_ns();
  const ssize_t answer = call();
  const double end = begin + (now_ns() - begin) * by;
  while (now_ns() < end) {}
  return answer;
}

}  // namespace

extern "C" {

ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  static auto* const call = original<ssize_t(int, void*, size_t, off_t)>("pread");
  return slowed([&] { return call(file, to, bytes, at); });
}

ssize_t pwrite(int file, const void* from, size_t bytes, off_t at) {
  static auto* const call = original<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  return slowed([&] { return call(file, from, bytes, at); });
}

ssize_t preadv2(int file, const iovec* to, int count, off_t at, int flags) {
  static auto* const call = original<ssize_t(int, const iovec*, int, off_t, int)>("preadv2");
  return slowed([&] { return call(file, to, count, at, flags); });
}

ssize_t pwritev2(int file, const iovec* from, int count, off_t at, int flags) {
  static auto* const call = original<ssize_t(int, const iovec*, int, off_t, int)>("pwritev2");
  return slowed([&] { return call(file, from, count, at, flags); });
}

}  // extern "C"
