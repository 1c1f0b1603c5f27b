// SPDX-License-Identifier: BSL-1.0
#include "figures.hpp"

#include "failure.hpp"
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

// Of repeated runs with its interval.
std::optional<estimate> found_in(const series& of, std::string_view figure, const std::optional<double>& value) {
  const auto found = std::ranges::find(of.between_runs, figure, &named_estimate::figure);
  return found == of.between_runs.end() ? known(value) : std::optional(found->value);
}

// A figure is one entry here.
constexpr std::array all_figures = {
    figure{"min", "min", unit::nanoseconds, [](const series& of) { return known(of.latency.min); }},
    figure{"max", "max", unit::nanoseconds, [](const series& of) { return known(of.latency.max); }},
    figure{"mean", "mean", unit::nanoseconds, [](const series& of) { return std::optional(of.latency.mean); }},
    figure{"batched", "batched", unit::nanoseconds,
           [](const series& of) { return found_in(of, "batched", of.batched_ns); }, false},
    figure{"iops", "IOPS", unit::per_second, [](const series& of) { return found_in(of, "iops", of.iops); }, true, true,
           true},
    figure{"MB/s", "MB/s", unit::megabytes_per_second,
           [](const series& of) { return found_in(of, "MB/s", of.bytes_per_second / 1e6); }, true, true, true},
    figure{"samples", "samples", unit::count,
           [](const series& of) { return known(static_cast<double>(of.latency.samples)); }, true, false},
    figure{"trusted", "trust to", unit::percentile, [](const series& of) { return known(of.trusted_fraction); }, true,
           false},
    figure{"cpu", "CPU/op", unit::nanoseconds, [](const series& of) { return found_in(of, "cpu", of.cpu_ns); }},
    figure{"cycles", "cycles/op", unit::cycles, [](const series& of) { return found_in(of, "cycles", of.cycles); },
           false}};

std::string four_digits(double value) {
  if (value >= 1000) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  if (value >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

// Fractions are typed as per cents, and come from JSON.
bool is_same(double a, double b) { return std::abs(a - b) < 1e-9; }

}  // namespace

std::span<const figure> figures_of_series() { return all_figures; }

const figure* figure_named(std::string_view name) {
  const auto* const found = std::ranges::find(all_figures, name, &figure::name);
  return found == all_figures.end() ? nullptr : found;
}

std::string figure_text(unit unit, double value) {
  switch (unit) {
    case unit::nanoseconds: return four_digits(value / 1000);
    case unit::megabytes_per_second: return four_digits(value);
    case unit::percentile: return trusted_text(value);
    case unit::per_second:
    case unit::cycles:
    case unit::count: break;
  }
  return fmt::format("{:.0f}", value);
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
  throw usage_error(fmt::format("'{}' is not measured; there are {}", name, names));
}

}  // namespace qd1
