// SPDX-License-Identifier: BSL-1.0
// What the experiments share when their figures are compared with the published ones.
#pragma once

#include "reproduce/reproduction.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {

/// The part's report; nullptr: it was not measured.
const report* part_named(const reproduction& of, std::string_view name);

/// The first series of the part for which `matches` holds, measured or not; nullptr: there is none.
const series* series_of(const reproduction& of, std::string_view part, const std::function<bool(const work&)>& matches);

/// nullptr becomes none, as does what was not measured.
std::optional<double> mean_of(const series* from);                         ///< ns
std::optional<double> percentile_of(const series* from, double fraction);  ///< ns
std::optional<double> iops_of(const series* from);
std::optional<double> bytes_per_second_of(const series* from);

std::optional<double> ratio(std::optional<double> a, std::optional<double> b);

/// "1.17", "12.4": of ratios; "?" of none.
std::string times(const std::optional<double>& factor);

/// What a publication claims, and the factor by which, where it is one.
struct claim {
  claim(const char* words) : text(words) {}
  claim(std::string words, std::optional<double> factor = {}) : text(std::move(words)), published(factor) {}

  std::string text;
  std::optional<double> published;
};

/// It cannot be told whether it held.
shape not_told(claim claim, std::string why_not);

/// The claim held if `found` is within the bounds. None: it cannot be told, for `why_not`.
shape held_within(claim claim, std::optional<double> found, double low, double high, std::string evidence,
                  std::string why_not = "not all that it takes was measured");

/// A row of this machine's, for tables of percentiles: p50, p95, p99.999, mean in µs. Refused where the series is
/// invalid.
figures_row percentiles_row(std::string subject, const series* from);

/// A published figure, as it was published, by its name in the registry of figures.
struct told_figure {
  std::string_view name;
  std::string text;
};

/// The columns of tables of loads, in their order: those of the registry that belong in experiments.
std::vector<std::string> load_columns();

/// A row of what a publication tells. `load`: "3 × 32" workers × depth; empty: unknown, as what is not `told`.
figures_row told_row(std::string subject, std::string load, const std::vector<told_figure>& told,
                     origin origin = origin::published);

/// A row of this machine's results for tables of loads. Cycles are those that the processors count, or "(TSC)". Dashes
/// stand for a nullptr and for what was not measured.
figures_row load_row(std::string subject, const series* from, const report* in);

/// Best of a part by operations a second, among those for which `matches` holds.
const series* best_of(
    const reproduction& of, std::string_view part,
    const std::function<bool(const work&)>& matches = [](const work&) { return true; });

}  // namespace qd1
