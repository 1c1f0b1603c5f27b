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

  /// Until now.
  nanoseconds total() {
    known_.push_back({clock::now(), read()});
    return known_.back().total;
  }
  /// When it was last asked for before that time: at most a beat earlier, so nearly all that it has grown by since then
  /// has made late what was due at that time.
  nanoseconds total_at(clock::time_point time) const {
    const auto before = std::find_if(known_.rbegin(), known_.rend(), [&](const at& each) { return each.when <= time; });
    return before == known_.rend() ? nanoseconds() : before->total;
  }

 private:
  struct at {
    clock::time_point when;
    nanoseconds total;
  };

  nanoseconds read() const {
    std::array<char, 96> text{};
    if (file_ < 0 || ::pread(file_, text.data(), text.size() - 1, 0) <= 0) return {};
    char* end = nullptr;
    static_cast<void>(std::strtoll(text.data(), &end, 10));  // the time on a CPU
    return nanoseconds(std::strtoll(end, nullptr, 10));
  }

  const int file_;
  std::vector<at> known_;
};

/// How late each of several things came that were due.
class lateness {
 public:
  /// `without_cpu` of it, the thread was ready to run, but had no CPU.
  void add(nanoseconds late, nanoseconds without_cpu) {
    worst_ = std::max(worst_, late);
    turns_.push_back(std::max(late - without_cpu, nanoseconds::zero()));
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

/// Sleeps for 1 ms again and again on a context until stop(), and notes how late each sleep ended.
class heartbeat {
 public:
  qio::task<void> beat(qio::context& on) {
    while (!stopped_) {
      const clock::time_point due = clock::now() + 1ms;
      const nanoseconds waited = waits_.total();
      static_cast<void>(co_await on.sleep_until(due));
      late_.add(clock::now() - due, waits_.total() - waited);
    }
  }
  void stop() { stopped_ = true; }

  const lateness& late() const { return late_; }
  cpu_waits& waits() { return waits_; }

 private:
  cpu_waits waits_;
  lateness late_;
  bool stopped_ = false;
};

/// Notes when an operation with a deadline was canceled: a sleep that ends at the deadline is due in the same turn.
/// Starts before the operation. If that ends after its deadline without having been canceled, its end counts.
class deadline_watch {
 public:
  deadline_watch(lateness& late, cpu_waits& waits, clock::time_point due) : late_(late), waits_(waits), due_(due) {}

  qio::task<void> watch(qio::context& on) {
    static_cast<void>(co_await on.sleep_until(due_));
    note();
  }
  void ended() {
    if (clock::now() > due_) note();
    is_noted_ = true;
  }

 private:
  void note() {
    if (is_noted_) return;
    is_noted_ = true;
    late_.add(clock::now() - due_, waits_.total() - waits_.total_at(due_));
  }

  lateness& late_;
  cpu_waits& waits_;
  const clock::time_point due_;
  bool is_noted_ = false;
};

}  // namespace stalls
