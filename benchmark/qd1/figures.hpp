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

enum class unit : std::uint8_t {
  nanoseconds,
  per_second,
  megabytes_per_second,
  cycles,
  count,
  percentile,
  percent,
  ratio
};

/// Where a table has a row or a column for a figure.
enum class visibility : std::uint8_t { never, if_known, always };

/// The table of a page that a figure belongs to.
enum class page_table : std::uint8_t { none, figures, evidence };

struct figure {
  std::string_view name = {};   ///< in gates, comparisons and exports: "iops"
  std::string_view label = {};  ///< in tables: "IOPS"
  qd1::unit unit = unit::nanoseconds;
  /// Of a measured series; none: unknown.
  std::optional<estimate> (*of)(const series&) = nullptr;
  /// Of one of several runs, and of a round: by these, series are compared. nullptr: they do not have it.
  std::optional<double> (*of_run)(const contribution&) = nullptr;
  std::optional<double> (*of_round)(const round&) = nullptr;
  visibility in_runs = visibility::always;  ///< in tables of single transfers
  visibility in_loads = visibility::never;  ///< in tables of loads …
  int load_rank = 0;                      ///< … of which those of a higher rank are left out first where it is narrow
  std::optional<int> shortage_rank = {};  ///< the same of tables of short memory; none: they have no column for it
  bool in_experiments = false;            ///< tables of loads of qd1 reproduce have a column for it
  page_table on_page = page_table::none;
  bool is_compared = false;    ///< compare has a line for it
  bool may_be_gated = true;    ///< a gate may name it
  bool of_one_sample = false;  ///< which may be the host's noise
  bool more_is_better = false;
};

/// All but the percentiles, in the order of tables.
std::span<const figure> figures_of_series();

/// Operations or bytes a second.
bool is_throughput(const figure& which);

/// Those of tables of loads: throughput first, then the others, the last of which a narrow table leaves out first.
/// `rows` decide whether what is shown if known has a column.
std::vector<const figure*> figures_of_loads(std::span<const series* const> rows);

/// Those of tables of short memory, in the same order.
std::vector<const figure*> figures_of_shortages();

/// Percentiles of tables of loads and of short memory: those that were requested, or the usual three.
std::vector<double> percentiles_of_loads(const settings& settings);

/// nullptr: there is none of that name.
const figure* figure_named(std::string_view name);

/// Printed with the digits that matter; times in microseconds, without the unit.
std::string figure_text(unit unit, double value);

/// What a figure's values are multiplied by to print them, and the unit's name: 0.001 and "µs" of a time.
struct printed_unit {
  double factor;
  std::string_view name;
};
printed_unit unit_of(std::string_view metric);

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

/// The same of a round, and of one of several runs.
std::optional<double> metric(const round& round, std::string_view name);
std::optional<double> metric(const contribution& run, std::string_view name);

/// Part of their time that the workers of a load computed, 1: all of them all the time. None where processor time is
/// not known, and of merged runs.
std::optional<double> busy(const series& of);

/// Throws usage_error where metric() would never have one, with the names that there are. `percentiles`: those of the
/// report.
void require_metric(std::string_view name, const std::vector<double>& percentiles = standard_percentiles());

}  // namespace qd1
