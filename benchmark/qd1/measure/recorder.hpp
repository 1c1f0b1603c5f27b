// SPDX-License-Identifier: BSL-1.0
// Records how long each transfer of a round took, and what went wrong.
#pragma once

#include "measure/clock.hpp"
#include "measure/interruption.hpp"
#include "measure/pace.hpp"
#include "report.hpp"
#include "statistics/histogram.hpp"
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace qd1 {

/// When a round ends: whichever comes first.
struct limits {
  std::uint64_t samples;
  double seconds;
  double overtime = 0;  ///< seconds more, at most, for those that should have begun before: of the last round
};

class recorder {
 public:
  /// Starts the clock. `schedule` is that of the series, which continues; null: the round has its own,
  /// with the same arrivals each time.
  recorder(const clock& clock, const work& work, limits most, pace* schedule = nullptr);
  recorder(const recorder&) = delete;
  recorder& operator=(const recorder&) = delete;

  bool wants_more() const noexcept {
    return histogram_.samples() < most_samples_ && failure_.empty() && !interrupted() &&
           (last_ < deadline_ || (last_ < overtime_ && schedule_.waiting(deadline_) > 0));
  }

  /// Waits until the next transfer should begin, and returns that time; nothing if the round has ended.
  std::optional<std::uint64_t> begin() noexcept {
    const auto found = schedule_.begin(deadline_);
    if (!found) last_ = deadline_;
    return found;
  }

  std::uint64_t samples() const noexcept { return histogram_.samples(); }

  /// Counts a completed transfer. Anything but a whole block at a multiple of the block ends the series, and makes it
  /// invalid: how long a refusal takes is not the latency of a transfer.
  void record(std::uint64_t offset, std::uint64_t begin, std::uint64_t end, const qio::result<std::size_t>& answer) {
    busy_ += end - (begin > last_ ? begin : last_);
    last_ = end;
    if (!answer || answer.value() != work_.block || offset % work_.block != 0) return fail(offset, answer);
    const std::uint64_t picoseconds = clock_.picoseconds(end - begin);
    histogram_.record(picoseconds);
    if (end >= slice_end_) close_slice();
    slice_.add(picoseconds);
  }

  // The results, once it has ended.
  const histogram& latencies() const noexcept { return histogram_; }
  double seconds() const noexcept { return clock_.seconds(last_ - first_); }
  double busy_seconds() const noexcept { return clock_.seconds(busy_); }  ///< in which a transfer was in flight
  double waiting() const noexcept { return schedule_.waiting(last_ < deadline_ ? last_ : deadline_); }
  std::uint64_t last() const noexcept { return last_; }  ///< when it ended, by the clock
  std::vector<slice> slices() const;
  const std::string& failure() const noexcept { return failure_; }  ///< empty: none

 private:
  struct open_slice {
    std::uint64_t operations = 0;
    std::uint64_t sum = 0;
    std::uint64_t maximum = 0;

    void add(std::uint64_t picoseconds) noexcept {
      ++operations;
      sum += picoseconds;
      maximum = picoseconds > maximum ? picoseconds : maximum;
    }
  };

  void fail(std::uint64_t offset, const qio::result<std::size_t>& answer);
  void close_slice();
  slice closed(const open_slice& open, std::uint64_t end) const;

  const clock& clock_;
  const work& work_;
  std::uint64_t most_samples_;
  std::uint64_t first_;
  std::uint64_t last_;
  std::uint64_t deadline_;
  std::uint64_t overtime_;
  std::uint64_t busy_ = 0;
  pace own_;
  pace& schedule_;
  histogram histogram_;
  std::vector<slice> slices_;
  open_slice slice_;
  std::uint64_t slice_begin_;
  std::uint64_t slice_ticks_;
  std::uint64_t slice_end_;
  std::string failure_;
};

}  // namespace qd1
