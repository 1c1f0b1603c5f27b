// SPDX-License-Identifier: BSL-1.0
#include "compare/metric.hpp"

#include "failure.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace qd1 {
namespace {

// How much wider the interval of the mean is by blocks than it would be were the samples independent.
double dependence(const latency& latency) {
  if (!latency.mean.interval || latency.samples == 0) return 1;
  double squares = 0;
  for (const bin& each : latency.bins)
    squares += static_cast<double>(each.count) * (each.ns - latency.mean.value) * (each.ns - latency.mean.value);
  const double half = (latency.mean.interval->high - latency.mean.interval->low) / 2;
  const double independent_half = 1.96 * std::sqrt(squares) / static_cast<double>(latency.samples);
  return independent_half > 0 ? std::max(1., half / independent_half) : 1;
}

estimate widened(estimate value, double factor) {
  if (!value.interval) return value;
  value.interval = interval{std::max(0., value.value - factor * (value.value - value.interval->low)),
                            value.value + factor * (value.interval->high - value.value)};
  return value;
}

}  // namespace

void require_metric(std::string_view name) {
  for (const std::string_view known : {"p50", "p95", "p99", "p99.9", "p99.999", "mean", "max", "iops"})
    if (name == known) return;
  throw usage_error(
      fmt::format("'{}' is not measured; there are p50, p95, p99, p99.9, p99.999, mean, max and iops", name));
}

std::optional<estimate> metric(const series& series, std::string_view name) {
  if (name == "max") return estimate{series.latency.max, std::nullopt};
  if (name == "iops") return estimate{series.iops, std::nullopt};
  if (name == "mean") return series.latency.mean;
  for (const percentile& each : series.latency.percentiles)
    if (percentile_name(each.fraction) == name && each.value) return widened(*each.value, dependence(series.latency));
  return std::nullopt;
}

}  // namespace qd1
