// SPDX-License-Identifier: BSL-1.0
// A report as a table for spreadsheets: a line for each series, with the figures of the registry.
#include "figures.hpp"
#include "findings/detections.hpp"
#include "units.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace qd1 {
namespace {

bool may_have_interval(const figure& which) { return which.of_run != nullptr; }

// Titles have commas, and no quotation marks.
std::string csv_head(const std::vector<double>& percentiles) {
  std::string line = "series,mode,operation,form,not available";
  for (const double each : percentiles) line += fmt::format(",{}", percentile_name(each));
  for (const figure& each : figures_of_series()) line += fmt::format(",{}", each.name);
  line += ",runs,intervals";
  for (const double each : percentiles) line += fmt::format(",{0} low,{0} high", percentile_name(each));
  for (const figure& each : figures_of_series())
    if (may_have_interval(each)) line += fmt::format(",{0} low,{0} high", each.name);
  return line;
}

std::string csv_cell(const std::optional<estimate>& value) {
  return value ? fmt::format(",{:.9g}", value->value) : ",";
}

std::string csv_interval(const std::optional<estimate>& value) {
  if (!value || !value->interval) return ",,";
  return fmt::format(",{:.9g},{:.9g}", value->interval->low, value->interval->high);
}

std::string csv_line(const series& of, const std::vector<double>& percentiles) {
  std::string line = fmt::format("\"{}\",{},{},{},{}", title(of.work), name(of.work.mode), name(of.work.operation),
                                 name(of.work.form), of.measured() ? "" : "yes");
  for (const double each : percentiles) line += csv_cell(of.measured() ? percentile_of(of, each) : std::nullopt);
  for (const figure& each : figures_of_series()) line += csv_cell(of.measured() ? each.of(of) : std::nullopt);
  line += of.measured() ? fmt::format(",{},{}", std::max<std::size_t>(of.contributions.size(), 1), interval_scope(of))
                        : ",,";
  for (const double each : percentiles) line += csv_interval(of.measured() ? percentile_of(of, each) : std::nullopt);
  for (const figure& each : figures_of_series())
    if (may_have_interval(each)) line += csv_interval(of.measured() ? each.of(of) : std::nullopt);
  return line;
}

constexpr const char* detection_head =
    ",detection base,detection now,base p50,now p50,ratio,ratio low,ratio high,pairs,verdict";

std::string csv_text(const std::string& text) {
  std::string found = "\"";
  for (const char each : text) found += each == '"' ? std::string("\"\"") : std::string(1, each);
  return found + '"';
}

// In the line of the first of the two series.
std::string detection_cells(const series& of, const report& report) {
  const auto found = std::ranges::find(report.detections, of.work, &detection::work);
  if (found == report.detections.end()) return ",,,,,,,,,";
  std::string cells = fmt::format(",{},{}", csv_text(found->base), csv_text(found->now));
  if (found->pairs.empty() || !found->not_decidable.empty()) {
    cells += ",,,,,";
  } else {
    const auto [base, now] = medians_of(*found);
    cells += fmt::format(",{:.9g},{:.9g}", base, now) + csv_cell(found->ratio) + csv_interval(found->ratio);
  }
  return cells +
         fmt::format(",{},{}", found->pairs.size(), found->not_decidable.empty() ? name(found->verdict) : "no verdict");
}

}  // namespace

std::string csv(const report& report) {
  const std::vector<double>& percentiles = percentiles_of(report.settings);
  const bool has_detections = !report.detections.empty();
  std::string text = csv_head(percentiles) + (has_detections ? detection_head : "") + '\n';
  for (const series& each : report.series)
    text += csv_line(each, percentiles) + (has_detections ? detection_cells(each, report) : "") + '\n';
  return text;
}

}  // namespace qd1
