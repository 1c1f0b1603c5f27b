// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"

#include "failure.hpp"
#include "statistics/pooled_rounds.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace qd1 {
namespace {

std::optional<estimate> known(const std::optional<double>& value) {
  return value ? std::optional(estimate{*value, std::nullopt}) : std::nullopt;
}

// Of repeated runs with its interval. One run shows what it was, and not how far to trust it.
std::optional<estimate> found_in(const series& of, std::string_view figure, const std::optional<double>& value) {
  const auto found = std::ranges::find(of.between_runs, figure, &named_estimate::figure);
  if (found != of.between_runs.end()) return found->value;
  if (!value) return std::nullopt;
  return estimate{*value, std::nullopt, scope::within_run, "it needs repeated runs (--repeat 3)"};
}

std::optional<double> rate_of(const round& of) {
  return of.seconds > 0 ? std::optional(static_cast<double>(of.samples) / of.seconds) : std::nullopt;
}

// `value`: operations a second, or what is in proportion to them.
std::optional<estimate> rate_in(const series& of, std::string_view figure, double value) {
  return of.between_runs.empty() ? std::optional(rate_of_rounds(value, of.rounds)) : found_in(of, figure, value);
}

// Nothing is known of latencies where the clock was not read.
bool is_timed(const series& of) { return of.latency.max > 0; }

std::optional<estimate> device_operations(const series& of) {
  const verification& facts = of.verification;
  if (!facts.device_operations || facts.application_operations == 0) return std::nullopt;
  return known(static_cast<double>(*facts.device_operations) / static_cast<double>(facts.application_operations));
}

// A figure is one entry here.
constexpr std::array all_figures = {
    figure{.name = "min",
           .label = "min",
           .of = [](const series& of) { return is_timed(of) ? known(of.latency.min) : std::nullopt; }},
    figure{.name = "max",
           .label = "max",
           .of = [](const series& of) { return is_timed(of) ? known(of.latency.max) : std::nullopt; },
           .in_loads = visibility::always,
           .load_rank = 2,
           .shortage_rank = 2,
           .on_page = page_table::figures,
           .of_one_sample = true},
    figure{.name = "mean",
           .label = "mean",
           .of = [](const series& of) { return is_timed(of) ? std::optional(of.latency.mean) : std::nullopt; },
           .of_run = [](const contribution& of) { return of.mean ? std::optional(of.mean->value) : std::nullopt; },
           .of_round = [](const round& of) { return of.mean > 0 ? std::optional(of.mean) : std::nullopt; },
           .shortage_rank = 3,
           .on_page = page_table::figures,
           .is_compared = true},
    figure{.name = "batched",
           .label = "batched",
           .of = [](const series& of) { return found_in(of, "batched", of.batched_ns); },
           .of_run = [](const contribution& of) { return of.batched_ns; },
           .in_runs = visibility::if_known,
           .on_page = page_table::evidence},
    figure{.name = "iops",
           .label = "IOPS",
           .unit = unit::per_second,
           .of = [](const series& of) { return rate_in(of, "iops", of.iops); },
           .of_run = [](const contribution& of) { return std::optional(of.iops); },
           .of_round = rate_of,
           .in_loads = visibility::always,
           .shortage_rank = 0,
           .in_experiments = true,
           .on_page = page_table::figures,
           .is_compared = true,
           .more_is_better = true},
    figure{.name = "MB/s",
           .label = "MB/s",
           .unit = unit::megabytes_per_second,
           .of = [](const series& of) { return rate_in(of, "MB/s", of.bytes_per_second / 1e6); },
           .of_run = [](const contribution& of) { return std::optional(of.iops); },  // in proportion
           .of_round = rate_of,                                                      // … too
           .in_loads = visibility::always,
           .load_rank = 1,
           .in_experiments = true,
           .more_is_better = true},
    figure{.name = "samples",
           .label = "samples",
           .unit = unit::count,
           .of = [](const series& of) { return known(static_cast<double>(of.latency.samples)); },
           .on_page = page_table::evidence,
           .may_be_gated = false},
    figure{.name = "trusted",
           .label = "trust to",
           .unit = unit::percentile,
           .of = [](const series& of) { return is_timed(of) ? known(of.trusted_fraction) : std::nullopt; },
           .in_loads = visibility::always,
           .load_rank = 5,
           .may_be_gated = false},
    figure{.name = "cpu",
           .label = "CPU/op",
           .of = [](const series& of) { return found_in(of, "cpu", of.cpu_ns); },
           .of_run = [](const contribution& of) { return of.cpu_ns; },
           .in_loads = visibility::always,
           .load_rank = 2,
           .in_experiments = true,
           .on_page = page_table::evidence},
    figure{.name = "cycles",
           .label = "cycles/op",
           .unit = unit::cycles,
           .of = [](const series& of) { return found_in(of, "cycles", of.cycles); },
           .of_run = [](const contribution& of) { return of.cycles; },
           .in_runs = visibility::if_known,
           .in_loads = visibility::if_known,
           .load_rank = 3,
           .in_experiments = true,
           .on_page = page_table::evidence},
    figure{.name = "busy",
           .label = "busy",
           .unit = unit::percent,
           .of = [](const series& of) { return known(busy(of)); },
           .in_runs = visibility::never,
           .in_loads = visibility::always,
           .load_rank = 4,
           .in_experiments = true,
           .may_be_gated = false},
    figure{.name = "dev/op",
           .label = "dev/op",
           .unit = unit::ratio,
           .of = device_operations,
           .in_runs = visibility::never,
           .in_loads = visibility::always,
           .load_rank = 4,
           .shortage_rank = 1,
           .in_experiments = true,
           .may_be_gated = false}};

std::string four_digits(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  if (value >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

// Throughput first, then the others by their ranks.
template <class Rank>
void put_in_order(std::vector<const figure*>& all, Rank&& rank) {
  const auto others = std::ranges::stable_partition(all, [](const figure* each) { return is_throughput(*each); });
  std::ranges::stable_sort(others, {}, rank);
}

// Fractions are typed as per cents, and come from JSON.
bool is_same(double a, double b) { return std::abs(a - b) < 1e-9; }

}  // namespace

std::span<const figure> figures_of_series() { return all_figures; }

bool is_throughput(const figure& which) {
  return which.unit == unit::per_second || which.unit == unit::megabytes_per_second;
}

std::vector<const figure*> figures_of_loads(std::span<const series* const> rows) {
  std::vector<const figure*> found;
  for (const figure& each : all_figures) {
    const auto has = [&](const series* row) { return each.of(*row).has_value(); };
    if (each.in_loads == visibility::always ||
        (each.in_loads == visibility::if_known && std::ranges::any_of(rows, has)))
      found.push_back(&each);
  }
  put_in_order(found, [](const figure* each) { return each->load_rank; });
  return found;
}

std::vector<const figure*> figures_of_shortages() {
  std::vector<const figure*> found;
  for (const figure& each : all_figures)
    if (each.shortage_rank) found.push_back(&each);
  put_in_order(found, [](const figure* each) { return *each->shortage_rank; });
  return found;
}

std::vector<double> percentiles_of_loads(const settings& settings) {
  return settings.percentiles.empty() ? std::vector<double>{0.5, 0.99, 0.999} : settings.percentiles;
}

const figure* figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(all_figures, name, &figure::name);
  return found == all_figures.end() ? nullptr : found;
}

std::string figure_text(unit unit, double value) {
  switch (unit) {
    case unit::nanoseconds: return four_digits(value / 1000);
    case unit::ratio: return fmt::format("{:.3f}", value);
    case unit::megabytes_per_second: return four_digits(value);
    case unit::percentile: return trusted_text(value);
    case unit::percent: return fmt::format("{:.0f}%", value * 100);
    case unit::per_second:
    case unit::cycles:
    case unit::count: break;
  }
  return fmt::format("{:.0f}", value);
}

printed_unit unit_of(std::string_view metric) {
  const figure* const found = figure_named(metric);
  switch (found != nullptr ? found->unit : unit::nanoseconds) {
    case unit::nanoseconds: return {1e-3, "µs"};
    case unit::megabytes_per_second: return {1, "MB/s"};
    case unit::per_second: return {1, "IOPS"};
    case unit::cycles: return {1, "cycles"};
    default: return {1, ""};
  }
}

std::string digits(double value) { return figure_text(unit::megabytes_per_second, value); }

std::string microseconds(double ns) { return figure_text(unit::nanoseconds, ns); }

const std::vector<double>& standard_percentiles() {
  static const std::vector<double> fractions = {0.5, 0.95, 0.99, 0.999, 0.99999};
  return fractions;
}

const std::vector<double>& percentiles_of(const settings& settings) {
  return settings.percentiles.empty() ? standard_percentiles() : settings.percentiles;
}

std::vector<double> chosen_percentiles(const std::vector<double>& fractions) {
  return fractions == standard_percentiles() ? std::vector<double>() : fractions;
}

std::optional<double> percentile_named(std::string_view name) {
  if (!name.starts_with('p') || name.size() < 2) return std::nullopt;
  double percent = 0;
  const auto [end, failure] = std::from_chars(name.data() + 1, name.data() + name.size(), percent);
  if (failure != std::errc() || end != name.data() + name.size() || !(percent > 0 && percent < 100))
    return std::nullopt;
  return percent / 100;
}

std::optional<estimate> percentile_of(const series& from, double fraction) {
  for (const percentile& each : from.latency.percentiles)
    if (is_same(each.fraction, fraction)) return each.value;
  return std::nullopt;
}

std::optional<estimate> metric(const series& series, std::string_view name) {
  if (const figure* const found = figure_named(name)) return found->of(series);
  const auto fraction = percentile_named(name);
  return fraction ? percentile_of(series, *fraction) : std::nullopt;
}

estimate iops_estimate(const series& of) { return *rate_in(of, "iops", of.iops); }

std::optional<double> metric(const round& round, std::string_view name) {
  if (const figure* const found = figure_named(name))
    return found->of_round != nullptr ? found->of_round(round) : std::nullopt;
  for (const round_percentile& each : round.quantiles)
    if (percentile_name(each.fraction) == name) return each.ns;
  return std::nullopt;
}

std::optional<double> metric(const contribution& run, std::string_view name) {
  if (const figure* const found = figure_named(name))
    return found->of_run != nullptr ? found->of_run(run) : std::nullopt;
  for (const percentile& each : run.percentiles)
    if (each.value && percentile_name(each.fraction) == name) return each.value->value;
  return std::nullopt;
}

std::optional<double> busy(const series& of) {
  if (!of.cpu_ns || !of.contributions.empty()) return std::nullopt;
  const double operations = of.iops / of.work.load.share;  // of both kinds of a mix
  return *of.cpu_ns * 1e-9 * operations / static_cast<double>(of.work.load.workers * of.work.load.targets);
}

void require_metric(std::string_view name, const std::vector<double>& percentiles) {
  if (const figure* const found = figure_named(name); found != nullptr && found->may_be_gated) return;
  std::string names;
  for (const double each : percentiles) {
    names += percentile_name(each) + ", ";
    if (const auto wanted = percentile_named(name); wanted && is_same(*wanted, each)) return;
  }
  for (const figure& each : all_figures)
    if (each.may_be_gated) names += fmt::format("{}, ", each.name);
  names.resize(names.size() - 2);
  throw usage_error(fmt::format("'{}' is not measured; use one of {}", name, names));
}

}  // namespace qd1
