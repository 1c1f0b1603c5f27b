// SPDX-License-Identifier: BSL-1.0
// Records how long one worker's transfers took.
#pragma once

#include "depth/window.hpp"
#include "measure/clock.hpp"
#include "report.hpp"
#include "statistics/histogram.hpp"
#include <qio/result.hpp>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qd1 {

/// What happened in one second of the window.
struct second_of_window {
  std::uint64_t operations = 0;
  coarse_histogram latencies;
};

/// What is known of the reads of a worker, or of its writes.
struct transfers {
  std::uint64_t started = 0;  ///< in all, before and after the window as well
  std::uint64_t counted = 0;  ///< completed within the window
  histogram latencies;        ///< of those, where the clock is read
  std::vector<second_of_window> seconds;

  void merge(const transfers& other) {
    started += other.started;
    counted += other.counted;
    latencies.merge(other.latencies);
    if (seconds.size() < other.seconds.size()) seconds.resize(other.seconds.size());
    for (std::size_t each = 0; each < other.seconds.size(); ++each) {
      seconds[each].operations += other.seconds[each].operations;
      seconds[each].latencies.merge(other.seconds[each].latencies);
    }
  }
};

/// For one thread.
class ledger {
 public:
  /// If the clock is not read for every transfer (`timed` is false), it is read for one of `unread`, to notice the
  /// window's end, and latencies are unknown.
  ledger(const clock& clock, const window& window, bool timed, std::uint64_t block)
      : clock_(clock), window_(window), timed_(timed), block_(block), ticks_a_second_(clock.ticks(1)) {}

  /// When the window is open.
  void begin() {
    const auto seconds = static_cast<double>(window_.end() - window_.begin()) / static_cast<double>(ticks_a_second_);
    for (transfers& each : of_)
      each.seconds.resize(static_cast<std::size_t>(std::ceil(seconds - 1e-6)));  // the clock's ticks are whole numbers
    second_ = 0;
    second_end_ = window_.begin() + ticks_a_second_;
    read_clock();
  }

  /// The end of the transfer before this one: the next begins then.
  std::uint64_t now() const noexcept { return now_; }
  bool goes_on() const noexcept { return now_ < window_.end() && !window_.is_closed() && failure_.empty(); }

  /// Counts a completed transfer that began at `begin`.
  void record(operation what, std::uint64_t offset, std::uint64_t begin, const qio::result<std::size_t>& answer) {
    if (timed_ || ++since_reading_ == unread) {
      since_reading_ = 0;
      read_clock();
    }
    transfers& to = of_[static_cast<std::size_t>(what)];
    ++to.started;
    if (!answer || answer.value() != block_) return fail(what, offset, answer);
    if (!is_in_window_) return;
    ++to.counted;
    second_of_window& second = to.seconds[second_];
    ++second.operations;
    if (!timed_) return;
    const std::uint64_t picoseconds = clock_.picoseconds(now_ - begin);
    to.latencies.record(picoseconds);
    second.latencies.record(picoseconds);
  }

  const transfers& of(operation what) const noexcept { return of_[static_cast<std::size_t>(what)]; }
  const std::string& failure() const noexcept { return failure_; }  ///< empty: none

 private:
  static constexpr int unread = 64;

  // Finds the second as well, step by step: a division would be a part of what is measured.
  void read_clock() noexcept {
    now_ = clock_.after();
    is_in_window_ = now_ >= window_.begin() && now_ < window_.end();
    for (; now_ >= second_end_ && second_ + 1 < of_[0].seconds.size(); ++second_) second_end_ += ticks_a_second_;
  }

  void fail(operation what, std::uint64_t offset, const qio::result<std::size_t>& answer);

  const clock& clock_;
  const window& window_;
  bool timed_;
  std::uint64_t block_;
  std::uint64_t ticks_a_second_;
  std::uint64_t now_ = 0;
  bool is_in_window_ = false;
  std::size_t second_ = 0;  // of the window, that `now_` is in
  std::uint64_t second_end_ = 0;
  int since_reading_ = 0;
  std::array<transfers, 2> of_;
  std::string failure_;
};

}  // namespace qd1
