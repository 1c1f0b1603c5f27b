// SPDX-License-Identifier: BSL-1.0
#include "measure/noise.hpp"

#include "figures.hpp"
#include "platform/process.hpp"
#include "statistics/histogram.hpp"

#include <algorithm>

namespace qd1 {
namespace {

constexpr std::uint64_t least_gap_ps = 1'000'000;

double gaps_a_second(const noise& heard, double longer_than_ns) {
  std::uint64_t count = 0;
  for (const bin& each : heard.gaps)
    if (each.ns >= longer_than_ns) count += each.count;
  return heard.seconds > 0 ? static_cast<double>(count) / heard.seconds : 0;
}

}  // namespace

noise listen(const clock& clock, double seconds) {
  const platform::pinned_to_this_processor pinned;
  histogram gaps;
  const std::uint64_t first = clock.after();
  const std::uint64_t end = first + clock.ticks(seconds);
  std::uint64_t last = first;
  while (last < end) {
    const std::uint64_t now = clock.after();
    const std::uint64_t gap = clock.picoseconds(now - last);
    if (gap > least_gap_ps) gaps.record(gap);
    last = now;
  }
  return {clock.seconds(last - first), gaps.maximum_ns(), gaps.bins()};
}

std::optional<double> trusted_fraction(const series& series, const noise& before, const noise& after) {
  const auto median = series.measured() ? median_of(series) : std::nullopt;
  if (!median) return std::nullopt;
  const double notable = median->value / 10;
  const double gaps = std::max(gaps_a_second(before, notable), gaps_a_second(after, notable));
  return std::max(0., 1 - gaps / series.iops);
}

}  // namespace qd1
