// SPDX-License-Identifier: BSL-1.0
// The figures of a series: what each is called, its unit, how it is found, and how it is printed. Tables, gates and
// exports take them from here.
#pragma once

#include "report.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace qd1 {

enum class unit : std::uint8_t { nanoseconds, per_second, megabytes_per_second, cycles, count, percentile };

struct figure {
  std::string_view name;   ///< in gates and exports: "iops"
  std::string_view label;  ///< in tables: "IOPS"
  qd1::unit unit = unit::nanoseconds;
  std::optional<estimate> (*of)(const series&) = nullptr;  ///< of a measured series; none: unknown
  bool everywhere = true;                                  ///< tables show it although no series has it
  bool may_be_gated = true;                                ///< a gate may ask for it
  bool more_is_better = false;
};

/// All but the percentiles, in the order of tables.
std::span<const figure> figures_of_series();

/// nullptr: there is none of that name.
const figure* figure_named(std::string_view name);

/// Printed with the digits that matter; times in microseconds, without the unit.
std::string figure_text(unit unit, double value);

/// Four significant digits, at any magnitude.
std::string digits(double value);
/// The same of a time, without the unit.
std::string microseconds(double ns);

/// What every report has: p50, p95, p99, p99.9, p99.999. Others are for the user to choose.
const std::vector<double>& standard_percentiles();

/// Those of a report.
const std::vector<double>& percentiles_of(const settings& settings);

/// As a report's settings keep them: empty where they are the standard ones.
std::vector<double> chosen_percentiles(const std::vector<double>& fractions);

/// The fraction of "p99.9"; none: it is not the name of a percentile.
std::optional<double> percentile_named(std::string_view name);

/// Too few samples, or not among those that were reported: none.
std::optional<estimate> percentile_of(const series& from, double fraction);

/// The median, which every report has.
inline std::optional<estimate> median_of(const series& from) { return percentile_of(from, 0.5); }

/// "p50", "p99.9", "mean", "iops" …, as gates and comparisons name them. None: there are too few samples.
std::optional<estimate> metric(const series& series, std::string_view name);

/// Throws usage_error where metric() would never have one, with the names that there are. `percentiles`: those of the
/// report.
void require_metric(std::string_view name, const std::vector<double>& percentiles = standard_percentiles());

}  // namespace qd1
