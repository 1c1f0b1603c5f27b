// SPDX-License-Identifier: BSL-1.0
#include "output/load_columns.hpp"

#include "figures.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>

namespace qd1 {
namespace {

// As wide as its values are.
std::size_t width_of(const figure& which) {
  switch (which.unit) {
    case unit::per_second:
    case unit::cycles: return 9;
    case unit::megabytes_per_second: return 7;
    case unit::percent:
    case unit::ratio: return 6;
    default: return 8;
  }
}

load_column column_of(const figure& which, int rank) {
  return {std::string(which.label), width_of(which), rank, [&which](const series& of) {
            const auto found = which.of(of);
            return found ? figure_text(which.unit, found->value) : "n/a";
          }};
}

// Throughput, percentiles, then the others.
template <class Rank>
std::vector<load_column> columns_of(const std::vector<const figure*>& figures, const report& run, Rank&& rank) {
  std::vector<load_column> all, others;
  const int rank_of_others = run.settings.percentiles.empty() ? 3 : 1;  // what was asked for stays longer
  for (const figure* each : figures) (is_throughput(*each) ? all : others).push_back(column_of(*each, rank(*each)));
  for (const double each : percentiles_of_loads(run.settings))
    all.push_back({percentile_name(each), 8, each == 0.5 || each == 0.99 ? 0 : rank_of_others,
                   [each](const series& of) { return quantile_cell(of, each); }});
  std::ranges::move(others, std::back_inserter(all));
  return all;
}

}  // namespace

std::string quantile_cell(const series& of, double fraction) {
  const auto found = percentile_of(of, fraction);
  return found ? microseconds(found->value) : "n/a";
}

std::vector<load_column> load_columns(const ladder& rows, const report& run) {
  return columns_of(figures_of_loads(rows), run, [](const figure& each) { return each.load_rank; });
}

std::vector<load_column> shortage_columns(const report& run) {
  return columns_of(figures_of_shortages(), run, [](const figure& each) { return *each.shortage_rank; });
}

std::vector<load_column> fitting_columns(std::vector<load_column> all, std::size_t label_width) {
  const auto width = [&] {
    std::size_t sum = label_width;
    for (const load_column& each : all) sum += 1 + each.width;
    return sum;
  };
  while (width() > page_width() && all.size() > 1) all.erase(std::ranges::max_element(all, {}, &load_column::rank));
  return all;
}

std::string verification_text(const ladder& rows, std::string_view called) {
  verification all;
  for (const series* each : rows) {
    const verification& one = each->verification;
    if (!each->measured() || one.result != verification::verdict::verified || !one.device_operations) return {};
    all.device_operations = all.device_operations.value_or(0) + *one.device_operations;
    all.application_operations += one.application_operations;
  }
  return wrapped(fmt::format("VERIFIED direct: device ops {} / app {}, {} together",
                             grouped(*all.device_operations, ','), grouped(all.application_operations, ','), called));
}

std::string served_text(const ladder& rows) {
  service all;
  for (const series* each : rows) {
    if (!each->service.engine.empty()) all.engine = engine_text(each->service);
    all.by_inline += each->service.by_inline;
    all.by_ring += each->service.by_ring;
    all.by_worker += each->service.by_worker;
    add_stall(all.stall, each->service.stall);
  }
  if (all.engine.empty()) return {};
  const std::string stood = stall_text(all);
  return wrapped(fmt::format("Served by {}:{}", all.engine, path_text(all))) +
         (stood.empty() ? "" : wrapped("Meanwhile " + stood));
}

std::string row_remarks(const series& of, const report& run, const remark_counts& among, bool all_verified) {
  std::string text;
  for (const std::string& line : own_remarks(of, run, among)) text += wrapped(line);
  if (!traits(of.work.mode).keeps_pages && !all_verified && of.measured())
    text += wrapped(fmt::format("{}: {}", name_among(run, of.work), of.verification.text));
  return text;
}

}  // namespace qd1
