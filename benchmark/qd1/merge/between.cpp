// SPDX-License-Identifier: BSL-1.0
#include "merge/between.hpp"

#include "figures.hpp"
#include "statistics/between_runs.hpp"
#include "statistics/monotone.hpp"
#include "statistics/order_statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <utility>

namespace qd1 {
namespace {

using run_list = std::vector<contribution>;
using value_of = std::function<std::optional<double>(const contribution&)>;

contribution run_of(const ingredient& from) {
  const series& of = *from.found;
  const auto value = [&](double fraction) {
    const auto found = percentile_of(of, fraction);
    return found ? std::optional(found->value) : std::nullopt;
  };
  contribution made{from.run->name, of.latency.samples, of.iops, value(0.5), value(0.99), of.latency.max, {}};
  made.seed = from.run->run.settings.seed;
  made.mean = of.latency.mean;
  made.percentiles = of.latency.percentiles;
  made.cpu_ns = of.cpu_ns;
  made.cycles = of.cycles;
  made.batched_ns = of.batched_ns;
  return made;
}

run_list runs_of(const std::vector<ingredient>& from_each) {
  run_list all;
  for (const ingredient& each : from_each) {
    if (repetitions(*each.found) == 0) all.push_back(run_of(each));
    for (contribution one : repetitions(*each.found) == 0 ? run_list() : each.found->contributions) {
      one.name = each.run->name + ": " + one.name;
      one.straggles.clear();
      all.push_back(std::move(one));
    }
  }
  return all;
}

// None: a run does not have the figure.
std::optional<estimate> estimate_of(const run_list& all, const value_of& value) {
  std::vector<double> values;
  for (const contribution& each : all) {
    const auto found = value(each);
    if (!found) return std::nullopt;
    values.push_back(*found);
  }
  return between_runs(values);
}

// For each bin of a run, part of the samples in it and below.
std::vector<double> shares_of(const latency& run) {
  if (!run.shares.empty()) return run.shares;
  std::vector<double> found;
  found.reserve(run.bins.size());
  std::uint64_t below = 0;
  for (const bin& each : run.bins)
    found.push_back(static_cast<double>(below += each.count) / static_cast<double>(run.samples));
  return found;
}

// For each bin of all runs, part of the samples in it and below. Each run has the same weight.
std::vector<double> shares_of(const std::vector<bin>& bins, const std::vector<ingredient>& from_each) {
  constexpr double half_bin = 1. / 2048;
  std::vector<double> sums(bins.size());
  double weights = 0;
  for (const ingredient& each : from_each) {
    const auto weight = static_cast<double>(std::max<std::size_t>(repetitions(*each.found), 1));
    const latency& run = each.found->latency;
    const std::vector<double> shares = shares_of(run);
    weights += weight;
    for (std::size_t bin = 0, own = 0; bin < bins.size(); ++bin) {
      while (own < run.bins.size() && run.bins[own].ns <= bins[bin].ns * (1 + half_bin)) ++own;
      if (own != 0) sums[bin] += weight * shares[own - 1];
    }
  }
  for (double& each : sums) each = std::min(each / weights, 1.);
  if (!sums.empty()) sums.back() = 1;
  return sums;
}

// Of a percentile for which all runs together have samples enough, and one of them does not.
estimate of_all_samples(const latency& all, const percentile& which) {
  const auto reached = std::ranges::lower_bound(all.shares, which.fraction - 1e-9);
  const auto at = std::min(static_cast<std::size_t>(reached - all.shares.begin()), all.bins.size() - 1);
  return {std::clamp(all.bins[at].ns, all.min, all.max), std::nullopt, scope::between_runs,
          fmt::format("a run has too few samples for it; each needs {}", which.samples_needed)};
}

std::optional<double> percentile_in(const contribution& run, double fraction) {
  const auto found = std::ranges::find(run.percentiles, fraction, &percentile::fraction);
  if (found == run.percentiles.end() || !found->value) return std::nullopt;
  return found->value->value;
}

void set_latency(latency& of, const run_list& all) {
  of.mean = *estimate_of(all, [](const contribution& each) { return each.mean ? each.mean->value : 0; });
  if (of.bins.empty()) of.mean.withheld = "there are no samples";  // the clock was not read
  for (percentile& each : of.percentiles) {
    auto found = estimate_of(all, [&](const contribution& run) { return percentile_in(run, each.fraction); });
    if (found)
      each.value = std::move(found);
    else if (of.samples >= each.samples_needed && !of.bins.empty())
      each.value = of_all_samples(of, each);
    else
      each.value.reset();
  }
  make_monotone(of.percentiles);
}

// Sets the figure of the series to the middle of the interval, so that both are the same number wherever they stand.
void set_figures(series& to, const run_list& all) {
  const auto set = [&](std::string name, const value_of& value) -> std::optional<double> {
    const auto found = estimate_of(all, value);
    if (!found) return std::nullopt;
    to.between_runs.push_back({std::move(name), *found});
    return found->value;
  };
  const auto block = static_cast<double>(to.work.block);
  to.iops = *set("iops", [](const contribution& each) { return each.iops; });
  to.bytes_per_second = 1e6 * *set("MB/s", [&](const contribution& each) { return each.iops * block / 1e6; });
  to.batched_ns = set("batched", [](const contribution& each) { return each.batched_ns; });
  to.cpu_ns = set("cpu", [](const contribution& each) { return each.cpu_ns; });
  to.cycles = set("cycles", [](const contribution& each) { return each.cycles; });
}

}  // namespace

void set_between_runs(series& to, const std::vector<ingredient>& from_each) {
  run_list all = runs_of(from_each);
  to.latency.shares = shares_of(to.latency.bins, from_each);
  set_latency(to.latency, all);
  set_figures(to, all);
  to.contributions = std::move(all);
}

}  // namespace qd1
