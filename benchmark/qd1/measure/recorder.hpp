// SPDX-License-Identifier: BSL-1.0
// Takes down what each transfer of a series took, and what went wrong.
#pragma once

#include "measure/clock.hpp"
#include "measure/interruption.hpp"
#include "report.hpp"
#include "statistics/block_means.hpp"
#include "statistics/histogram.hpp"
#include <qio/result.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qd1 {

/// When a series is over: whichever comes first.
struct limits {
  std::uint64_t samples;
  double seconds;
};

class recorder {
 public:
  /// The time begins to run.
  recorder(const clock& clock, const work& work, limits most);

  bool wants_more() const noexcept {
    return histogram_.samples() < most_samples_ && last_ < deadline_ && failure_.empty() && !interrupted();
  }

  std::uint64_t samples() const noexcept { return histogram_.samples(); }

  /// A transfer that is over. Whatever is no whole block at a multiple of the block ends the series, and makes it
  /// invalid: how long a refusal takes is not the latency of a transfer.
  void record(std::uint64_t offset, std::uint64_t begin, std::uint64_t end, const qio::result<std::size_t>& answer) {
    last_ = end;
    if (!answer || answer.value() != work_.block || offset % work_.block != 0) return fail(offset, answer);
    const std::uint64_t picoseconds = clock_.picoseconds(end - begin);
    histogram_.record(picoseconds);
    means_.add(static_cast<double>(picoseconds) / 1000);
    if (end >= slice_end_) close_slice();
    slice_.add(picoseconds);
  }

  /// Writes down what has been found out.
  void summarize(series& into) const;

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
  histogram histogram_;
  block_means means_;
  std::vector<slice> slices_;
  open_slice slice_;
  std::uint64_t slice_begin_;
  std::uint64_t slice_ticks_;
  std::uint64_t slice_end_;
  std::string failure_;
};

/// Percentiles, intervals and bins of a histogram; the mean's interval from blocks.
latency summary(const histogram& samples, const block_means& means);

}  // namespace qd1
