// SPDX-License-Identifier: BSL-1.0
#include "measure/noise.hpp"

#include "figures.hpp"
#include "platform/process.hpp"
#include "statistics/histogram.hpp"

#include <algorithm>

namespace qd1 {
namespace {

constexpr std::uint64_t least_gap_ps = 1'000'000;

bool is_notable(const bin& gap, double least_ns) { return gap.ns >= least_ns; }

bool has_notable(const noise& heard, double least_ns) {
  return std::ranges::any_of(heard.gaps, [&](const bin& each) { return is_notable(each, least_ns); });
}

// Transfers that a gap disturbs: all that are in flight on that CPU, and in an open loop those that arrive meanwhile.
double disturbed_by(double gap_ns, const work& of) {
  return static_cast<double>(of.load.in_flight()) * of.load.share + of.rate.value_or(0) * gap_ns * 1e-9;
}

double disturbed_a_second(const noise& heard, const work& of, double least_ns) {
  double sum = 0;
  for (const bin& each : heard.gaps)
    if (is_notable(each, least_ns)) sum += static_cast<double>(each.count) * disturbed_by(each.ns, of);
  return heard.seconds > 0 ? sum / heard.seconds : 0;
}

// Where none was heard there may be as many as would be heard with a probability of 95 % (the rule of three).
double disturbed_unheard(double seconds, const work& of, double least_ns) {
  constexpr double upper_limit = 3;
  return seconds > 0 ? upper_limit / seconds * disturbed_by(least_ns, of) : 0;
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
  const work& of = series.work;
  const double disturbed =
      has_notable(before, notable) || has_notable(after, notable)
          ? std::max(disturbed_a_second(before, of, notable), disturbed_a_second(after, of, notable))
          : disturbed_unheard(before.seconds + after.seconds, of, notable);
  return std::max(0., 1 - disturbed / series.iops);
}

}  // namespace qd1
