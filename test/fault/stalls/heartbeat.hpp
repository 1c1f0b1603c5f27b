// How late a context runs what is due, measured from outside of the library: by a coroutine that sleeps for 1 ms again
// and again, and at deadlines of operations.
#pragma once

#include <qio/qio.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <iterator>
#include <utility>
#include <vector>

namespace stalls {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using nanoseconds = std::chrono::nanoseconds;

/// For how long this thread was ready to run, but had no CPU (/proc/thread-self/schedstat). Other programs on the host
/// cause that, not the library, so it does not count against a turn. Zero where the kernel does not report it.
class cpu_waits {
 public:
  cpu_waits() : file_(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)) {}
  cpu_waits(const cpu_waits&) = delete;
  cpu_waits& operator=(const cpu_waits&) = delete;
  ~cpu_waits() {
    if (file_ >= 0) ::close(file_);
  }

  /// Asks the kernel, at each beat.
  void look() { known_.push_back({clock::now(), total()}); }
  /// Between two times, to the beats around them.
  nanoseconds between(clock::time_point begin, clock::time_point end) const {
    const auto after = std::ranges::lower_bound(known_, end, {}, &look_at::when);
    const auto before = std::ranges::upper_bound(known_, begin, {}, &look_at::when);
    if (known_.empty() || before == known_.begin()) return {};
    return (after == known_.end() ? known_.back() : *after).total - std::prev(before)->total;
  }

 private:
  struct look_at {
    clock::time_point when;
    nanoseconds total;
  };

  nanoseconds total() const {
    std::array<char, 96> text{};
    if (file_ < 0 || ::pread(file_, text.data(), text.size() - 1, 0) <= 0) return {};
    char* end = nullptr;
    static_cast<void>(std::strtoll(text.data(), &end, 10));  // the time on a CPU
    return nanoseconds(std::strtoll(end, nullptr, 10));
  }

  const int file_;
  std::vector<look_at> known_;
};

/// When several things were due, and when they came. Noting that takes little time, because many are due at once.
using arrivals = std::vector<std::pair<clock::time_point, clock::time_point>>;

/// How late each of several things came that were due.
class lateness {
 public:
  lateness() = default;
  lateness(const arrivals& of, const cpu_waits& waits) {
    for (const auto& [due, came] : of) {
      worst_ = std::max<nanoseconds>(worst_, came - due);
      turns_.push_back(std::max<nanoseconds>(came - due - waits.between(due, came), nanoseconds::zero()));
    }
  }

  std::size_t count() const { return turns_.size(); }
  nanoseconds worst() const { return worst_; }
  /// The same without the time for which the thread had no CPU: what the longest turn took.
  nanoseconds longest_turn() const { return turns_.empty() ? nanoseconds() : *std::ranges::max_element(turns_); }
  /// What 9 999 of 10 000 turns took at most: of fewer, all.
  nanoseconds nearly_all() const {
    if (turns_.empty()) return {};
    std::vector<nanoseconds> sorted = turns_;
    std::ranges::sort(sorted);
    return sorted[sorted.size() - 1 - sorted.size() / 10'000];
  }
  /// The sum of all turns longer than 1 ms.
  nanoseconds blocked() const {
    nanoseconds sum{};
    for (const nanoseconds each : turns_) sum += each > 1ms ? each : nanoseconds();
    return sum;
  }

 private:
  nanoseconds worst_{};
  std::vector<nanoseconds> turns_;
};

/// Sleeps for 1 ms again and again on a context until stop(), and notes when each sleep ended.
class heartbeat {
 public:
  qio::task<void> beat(qio::context& on) {
    waits_.look();
    while (!stopped_) {
      const clock::time_point due = clock::now() + 1ms;
      static_cast<void>(co_await on.sleep_until(due));
      beats_.emplace_back(due, clock::now());
      waits_.look();
    }
  }
  void stop() { stopped_ = true; }

  lateness of_beats() const { return {beats_, waits_}; }
  lateness of(const arrivals& others) const { return {others, waits_}; }

 private:
  cpu_waits waits_;
  arrivals beats_;
  bool stopped_ = false;
};

/// Notes when an operation with a deadline was canceled: a sleep that ends at the deadline is due in the same turn.
/// Starts before the operation. If that ends after its deadline without having been canceled, its end counts.
class deadline_watch {
 public:
  deadline_watch(arrivals& notes, clock::time_point due) : notes_(notes), due_(due) {}

  qio::task<void> watch(qio::context& on) {
    static_cast<void>(co_await on.sleep_until(due_));
    note(clock::now());
  }
  void ended() {
    if (const clock::time_point now = clock::now(); now > due_) note(now);
    is_noted_ = true;
  }

 private:
  void note(clock::time_point now) {
    if (!is_noted_) notes_.emplace_back(due_, now);
    is_noted_ = true;
  }

  arrivals& notes_;
  const clock::time_point due_;
  bool is_noted_ = false;
};

}  // namespace stalls
