// SPDX-License-Identifier: BSL-1.0
// What makes a loop a competitor: a program that carries out a round for each line that it is sent.
#pragma once

#include "measure/round.hpp"

#include <sys/resource.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace compare {

/// A program `NAME FILE`. It first carries out a thorough round and prints "ready", or why it is unavailable. Then, for
/// each line with a number on standard input, it warms up with a tenth of that many operations, carries all of them
/// out, and prints one line of
///   p50 p95 p99.9 nanoseconds, both of them 0 if only the whole round is timed
///   nanoseconds for the whole round, processor time (user and system, all threads) in nanoseconds
/// until its standard input ends. It waits asleep, so all the competitors can be there at once and be asked in turn.
class competitor {
 public:
  competitor(int argc, char** argv) {
    if (argc != 2) fail("usage", "COMPETITOR FILE");
    path_ = argv[1];
    file_ = ::open(path_, O_RDONLY | O_CLOEXEC);
    struct stat facts {};
    if (file_ < 0 || ::fstat(file_, &facts) != 0) fail(path_, std::strerror(errno));
    blocks_ = static_cast<std::uint64_t>(facts.st_size) / block;
    if (blocks_ == 0) fail(path_, "smaller than a block");
  }
  competitor(const competitor&) = delete;
  competitor& operator=(const competitor&) = delete;
  ~competitor() { ::close(file_); }

  const char* path() const noexcept { return path_; }
  std::uint64_t bytes() const noexcept { return blocks_ * block; }

  /// The same file, opened as the competitor needs it. It stays open until the program ends.
  int open(int flags) const {
    const int opened = ::open(path_, flags | O_CLOEXEC);
    if (opened < 0) fail(path_, std::strerror(errno));
    return opened;
  }

  /// `loop(round&)` does the operations of a round, one at a time.
  template <class Loop>
  void one_at_a_time(Loop&& loop) {
    serve(true, loop);
  }

  /// The same with several in flight.
  template <class Loop>
  void in_parallel(Loop&& loop) {
    serve(false, loop);
  }

 private:
  template <class Loop>
  void serve(bool is_each_timed, Loop& loop) {
    const auto carry_out = [&](std::uint64_t operations, bool is_thorough) {
      round made(file_, blocks_, ++seed_ * 0x9e3779b97f4a7c15, {operations, is_each_timed, is_thorough});
      loop(made);
      if (made.has_next()) fail("round", "the loop ended too early");
      return made;
    };
    carry_out(256, true);
    answer("ready\n");

    std::uint64_t operations = 0;
    while (std::scanf("%lu", &operations) == 1) {
      carry_out(operations / 10 + 1, false);
      const auto began = round::clock::now();
      const std::int64_t cpu_began = processor_ns();
      round done = carry_out(operations, false);
      const std::int64_t cpu = processor_ns() - cpu_began;
      const std::int64_t ns = (round::clock::now() - began) / std::chrono::nanoseconds(1);
      char line[128];
      if (is_each_timed)
        std::snprintf(line, sizeof line, "%ld %ld %ld %ld %ld\n", done.percentile(0.5), done.percentile(0.95),
                      done.percentile(0.999), ns, cpu);
      else
        std::snprintf(line, sizeof line, "0 0 0 %ld %ld\n", ns, cpu);
      answer(line);
    }
  }

  static void answer(const char* line) {
    std::fputs(line, stdout);
    std::fflush(stdout);
  }

  static std::int64_t processor_ns() noexcept {
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto ns = [](const timeval& time) { return time.tv_sec * 1'000'000'000 + time.tv_usec * 1'000; };
    return ns(used.ru_utime) + ns(used.ru_stime);
  }

  const char* path_;
  int file_;
  std::uint64_t blocks_;
  std::uint64_t seed_ = 0;
};

/// What a system call has answered, as a ring would tell it: bytes, or an error as a negative number.
inline std::int64_t of_system_call(ssize_t answer) noexcept { return answer < 0 ? -errno : answer; }

/// Memory that direct I/O takes, too.
struct alignas(block) page {
  std::byte bytes[block];
};

}  // namespace compare
