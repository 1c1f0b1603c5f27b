// SPDX-License-Identifier: BSL-1.0
// Loaded before the C library (LD_PRELOAD), it replaces the time of a program by one that passes only when it reads the
// clock or transfers: so runs are the same each time, however busy the machine is, and take a hundredth of the time.
// Transfers take 80 µs at the median, lognormally, with a deviation of a tenth:
//   VIRTUAL_MEMORY   how much each resembles the one before it, from 0 to 1 (AR(1))
//   VIRTUAL_WALK     … instead, by how much their logarithm has wandered after 10,000 of them
//   VIRTUAL_PAUSES   1: once a second, one of them takes 0.3 s longer
//   VIRTUAL_SLOWER   of the file VIRTUAL_FILE, a name without directory, take this many times as long
//   VIRTUAL_STEP     the clock moves in steps of so many nanoseconds
//   VIRTUAL_SEED     of chance
// The processor's counter seems unusable. io_uring and copies from mappings take no time.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <string_view>

namespace {

double setting(const char* name) noexcept {
  const char* const text = std::getenv(name);
  return text == nullptr ? 0 : std::strtod(text, nullptr);
}

class virtual_time {
 public:
  static virtual_time& instance() {
    static virtual_time all;
    return all;
  }

  std::uint64_t read() noexcept {
    const std::lock_guard lock(mutex_);
    constexpr std::uint64_t reading = 30;
    now_ += reading;
    return step_ == 0 ? now_ : now_ / step_ * step_;
  }

  void transfer(int file) noexcept {
    const double factor = is_slower(file) ? slower_ : 1;
    const std::lock_guard lock(mutex_);
    const double chance = normal_(random_);
    state_ = walk_ > 0 ? state_ + walk_ / 100 * chance : memory_ * state_ + std::sqrt(1 - memory_ * memory_) * chance;
    constexpr double spread = 0.1;
    now_ += static_cast<std::uint64_t>(factor * 80'000 * std::exp(walk_ > 0 ? state_ : spread * state_));
    if (!pauses_ || now_ < next_pause_) return;
    now_ += 300'000'000;
    next_pause_ = now_ + static_cast<std::uint64_t>(1e9 * exponential_(random_));
  }

 private:
  virtual_time() = default;

  bool is_slower(int file) const noexcept {
    if (slower_ == 0) return false;
    char path[4096];
    const std::string link = "/proc/self/fd/" + std::to_string(file);
    const ssize_t length = ::readlink(link.c_str(), path, sizeof path);
    return length > 0 && std::string_view(path, static_cast<std::size_t>(length)).ends_with(slower_file_);
  }

  std::mutex mutex_;
  std::uint64_t now_ = 1'000'000'000'000;
  std::uint64_t next_pause_ = now_ + 1'000'000'000;
  const double memory_ = setting("VIRTUAL_MEMORY");
  const double walk_ = setting("VIRTUAL_WALK");
  const bool pauses_ = setting("VIRTUAL_PAUSES") != 0;
  const double slower_ = setting("VIRTUAL_SLOWER");
  const std::string slower_file_ = std::string("/") + (std::getenv("VIRTUAL_FILE") ? std::getenv("VIRTUAL_FILE") : "");
  const std::uint64_t step_ = static_cast<std::uint64_t>(setting("VIRTUAL_STEP"));
  std::mt19937_64 random_{static_cast<std::uint64_t>(setting("VIRTUAL_SEED"))};
  std::normal_distribution<double> normal_;
  std::exponential_distribution<double> exponential_;
  double state_ = walk_ > 0 ? 0 : normal_(random_);
};

// The C library's own function of this name.
template <class Call>
Call* original(const char* name) noexcept {
  return reinterpret_cast<Call*>(::dlsym(RTLD_NEXT, name));
}

FILE* file_with(const std::string& text) noexcept {
  const int file = ::memfd_create("virtual", 0);
  if (file < 0 || ::write(file, text.data(), text.size()) < 0) return nullptr;
  ::lseek(file, 0, SEEK_SET);
  return ::fdopen(file, "r");
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t which, timespec* now) {
  if (which != CLOCK_MONOTONIC) return static_cast<int>(::syscall(SYS_clock_gettime, which, now));
  const std::uint64_t ns = virtual_time::instance().read();
  now->tv_sec = static_cast<time_t>(ns / 1'000'000'000);
  now->tv_nsec = static_cast<long>(ns % 1'000'000'000);
  return 0;
}

FILE* fopen64(const char* path, const char* how) {
  static auto* const call = original<FILE*(const char*, const char*)>("fopen64");
  // What the system has been up for has to agree with the clock, and the processor's counter is none.
  if (std::strcmp(path, "/proc/uptime") == 0)
    return file_with(std::to_string(static_cast<double>(virtual_time::instance().read()) * 1e-9) + " 0\n");
  if (std::strcmp(path, "/sys/devices/system/clocksource/clocksource0/available_clocksource") == 0)
    return file_with("virtual\n");
  return call(path, how);
}

FILE* fopen(const char* path, const char* how) { return ::fopen64(path, how); }

ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  static auto* const call = original<ssize_t(int, void*, size_t, off_t)>("pread");
  virtual_time::instance().transfer(file);
  return call(file, to, bytes, at);
}

ssize_t preadv2(int file, const iovec* to, int count, off_t at, int flags) {
  static auto* const call = original<ssize_t(int, const iovec*, int, off_t, int)>("preadv2");
  virtual_time::instance().transfer(file);
  return call(file, to, count, at, flags);
}

}  // extern "C"
