// SPDX-License-Identifier: BSL-1.0
// Loaded before the C library (LD_PRELOAD), it takes the time of each pread of a program, from right before the call to
// right after it, and writes percentiles of them to the file that CALL_TIMES names, as JSON, in nanoseconds. So what
// another tool prints can be compared with what its own calls took.
#include "statistics/histogram.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>

namespace {

class call_times {
 public:
  call_times() = default;
  call_times(const call_times&) = delete;
  call_times& operator=(const call_times&) = delete;
  ~call_times() {
    const char* const path = std::getenv("CALL_TIMES");
    if (path == nullptr || times_.samples() == 0) return;
    const auto at = [&](double fraction) {
      return times_.ranked_ns(static_cast<std::uint64_t>(fraction * static_cast<double>(times_.samples())));
    };
    std::ofstream(path) << R"({"p50": )" << at(0.5) << R"(, "p99": )" << at(0.99) << "}\n";
  }

  void add(std::chrono::nanoseconds taken) noexcept { times_.record(static_cast<std::uint64_t>(taken.count()) * 1000); }

 private:
  qd1::histogram times_;
};

call_times times;  // of one thread: fio with one job

}  // namespace

extern "C" ssize_t pread(int file, void* to, size_t bytes, off_t at) {
  using clock = std::chrono::steady_clock;
  static auto* const call = reinterpret_cast<ssize_t (*)(int, void*, size_t, off_t)>(::dlsym(RTLD_NEXT, "pread"));
  const auto begin = clock::now();
  const ssize_t answer = call(file, to, bytes, at);
  times.add(clock::now() - begin);
  return answer;
}

// The same, under the name that it has where offsets are asked for with 64 bits.
extern "C" ssize_t pread64(int file, void* to, size_t bytes, off_t at) { return ::pread(file, to, bytes, at); }
