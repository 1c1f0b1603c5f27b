// SPDX-License-Identifier: BSL-1.0
#include "measure/recorder.hpp"

#include "statistics/order_statistics.hpp"

#include <fmt/format.h>

namespace qd1 {
namespace {

constexpr double slice_seconds = 0.1;
constexpr double fractions[] = {0.5, 0.95, 0.99, 0.999, 0.99999};

percentile percentile_of(const histogram& samples, double fraction) {
  percentile found{fraction, samples_needed(fraction), std::nullopt};
  if (const auto ranks = percentile_ranks(fraction, samples.samples()))
    found.value = {samples.ranked_ns(percentile_rank(fraction, samples.samples())),
                   interval{samples.ranked_ns(ranks->low), samples.ranked_ns(ranks->high)}};
  return found;
}

}  // namespace

latency summary(const histogram& samples, const block_means& means) {
  latency found{samples.samples(), samples.minimum_ns(), samples.maximum_ns(), means.around(samples.mean_ns()), {},
                samples.bins()};
  for (const double fraction : fractions) found.percentiles.push_back(percentile_of(samples, fraction));
  return found;
}

recorder::recorder(const clock& clock, const work& work, limits most)
    : clock_(clock),
      work_(work),
      most_samples_(most.samples),
      first_(clock.after()),
      last_(first_),
      deadline_(first_ + clock.ticks(most.seconds)),
      slice_begin_(first_),
      slice_ticks_(clock.ticks(slice_seconds)),
      slice_end_(first_ + slice_ticks_) {
  slices_.reserve(static_cast<std::size_t>(most.seconds / slice_seconds) + 1);
}

slice recorder::closed(const open_slice& open, std::uint64_t end) const {
  const auto operations = static_cast<double>(open.operations);
  return {clock_.seconds(slice_begin_ - first_), clock_.seconds(end - slice_begin_), open.operations,
          open.operations == 0 ? 0 : static_cast<double>(open.sum) / 1000 / operations,
          static_cast<double>(open.maximum) / 1000};
}

// A transfer that took longer than a slice leaves empty ones behind.
void recorder::close_slice() {
  while (last_ >= slice_end_) {
    slices_.push_back(closed(slice_, slice_end_));
    slice_ = {};
    slice_begin_ = slice_end_;
    slice_end_ += slice_ticks_;
  }
}

void recorder::fail(std::uint64_t offset, const qio::result<std::size_t>& answer) {
  std::string what;
  if (!answer)
    what = answer.error().message();
  else if (answer.value() != work_.block)
    what = fmt::format("{} of {} bytes were transferred", answer.value(), work_.block);
  else
    what = fmt::format("the offset is not a multiple of the block, {}", work_.block);
  failure_ = fmt::format("transfer {} (at offset {}) failed: {}", histogram_.samples() + 1, offset, what);
}

void recorder::summarize(series& into) const {
  into.latency = summary(histogram_, means_);
  into.seconds = clock_.seconds(last_ - first_);
  if (into.seconds > 0) {
    into.iops = static_cast<double>(histogram_.samples()) / into.seconds;
    into.bytes_per_second = into.iops * static_cast<double>(work_.block);
  }
  into.slices = slices_;
  if (slice_.operations != 0) into.slices.push_back(closed(slice_, last_));
  if (!failure_.empty()) into.invalid.push_back(failure_);
  if (interrupted()) into.complete = false;
}

}  // namespace qd1
