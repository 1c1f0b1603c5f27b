// SPDX-License-Identifier: BSL-1.0
#include "series_table.hpp"

#include "panel.hpp"
#include "quantity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace qd1::html {
namespace {

struct entry {
  const named_report* run;
  const series* found;
};

std::vector<entry> entries_of(std::span<const named_report> runs) {
  std::vector<work> works;
  std::vector<entry> all;
  for (const named_report& run : runs)
    for (const series& each : run.run->series) {
      if (std::ranges::find(works, each.work) == works.end()) works.push_back(each.work);
      all.push_back({&run, &each});
    }
  const auto place = [&](const entry& of) { return std::ranges::find(works, of.found->work) - works.begin(); };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

std::vector<double> fractions_of(const std::vector<entry>& all) {
  std::vector<double> found;
  for (const entry& each : all)
    for (const percentile& which : each.found->latency.percentiles)
      if (std::ranges::none_of(found, [&](double known) { return std::abs(known - which.fraction) < 1e-9; }))
        found.push_back(which.fraction);
  std::ranges::sort(found);
  return found;
}

// What is not known has no value, and comes last however the table is sorted.
node sortable_cell(const std::string& text, std::optional<double> value) {
  attribute_list attributes = {{"role", "cell"}, {"class", "number"}};
  if (value) attributes.emplace_back("data-value", fmt::format("{}", *value));
  return element("td", std::move(attributes), {text});
}

// `is_trusted`: it is not the host's noise.
node time_cell(std::optional<double> ns, bool is_trusted = true) {
  return sortable_cell(ns ? duration_text(*ns) + (is_trusted ? "" : "†") : "–", ns);
}

node latency_cell(const series& of, double fraction, bool is_trusted) {
  const auto which = std::ranges::find_if(
      of.latency.percentiles, [&](const percentile& each) { return std::abs(each.fraction - fraction) < 1e-9; });
  if (which == of.latency.percentiles.end()) return sortable_cell("–", std::nullopt);
  if (!which->value) return sortable_cell(fmt::format("needs {}", count_text(which->samples_needed)), std::nullopt);
  return time_cell(which->value->value, is_trusted);
}

std::string why_no_figures(const series& of) {
  if (!of.not_available.empty()) return "Not available: " + of.not_available;
  if (!of.invalid.empty()) return fmt::format("INVALID: {}", fmt::join(of.invalid, "; "));
  return of.latency.samples == 0 ? "Not measured." : "";
}

node series_row(const entry& of, const std::vector<double>& fractions) {
  const series& found = *of.found;
  const std::string why = why_no_figures(found);
  const std::string kind = why.empty() ? (found.complete ? "" : "cut") : found.invalid.empty() ? "missing" : "refused";
  node cells = element("tr", {{"role", "row"}, {"class", kind}},
                       {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {qd1::title(found.work)}),
                        element("td", {{"role", "cell"}}, {of.run->name})});
  if (!why.empty()) {
    const std::string columns = fmt::format("{}", fractions.size() + 5);
    return cells.add(element("td", {{"role", "cell"}, {"class", "why"}, {"colspan", columns}}, {why}));
  }
  const bool timed = found.latency.max > 0;
  const auto is_trusted = [up_to = trusted(found, *of.run->run)](double fraction) { return fraction <= up_to + 1e-12; };
  for (const double each : fractions) cells.add(latency_cell(found, each, is_trusted(each)));
  cells.add(time_cell(timed ? std::optional(found.latency.max) : std::nullopt,
                      is_trusted(1 - 1 / static_cast<double>(found.latency.samples))));
  cells.add(time_cell(timed ? std::optional(found.latency.mean.value) : std::nullopt));
  cells.add(sortable_cell(rate_text(found.iops), found.iops));
  cells.add(sortable_cell(fmt::format("{:.4g}", found.bytes_per_second / 1e6), found.bytes_per_second));
  return cells.add(sortable_cell(count_text(found.latency.samples), static_cast<double>(found.latency.samples)));
}

node heading(const std::string& text, std::string_view kind) {
  return element("th", {{"scope", "col"}, {"role", "columnheader"}, {"data-sort", std::string(kind)}}, {text});
}

}  // namespace

node series_table(std::span<const named_report> runs) {
  const std::vector<entry> all = entries_of(runs);
  if (all.empty()) return "";
  const std::vector<double> fractions = fractions_of(all);
  node head = element("tr", {{"role", "row"}}, {heading("Series", "text"), heading("Report", "text")});
  for (const double each : fractions) head.add(heading(percentile_text(each), "number"));
  for (const char* const each : {"max", "mean", "IOPS", "MB/s", "samples"}) head.add(heading(each, "number"));
  nodes rows;
  rows.reserve(all.size());
  for (const entry& each : all) rows.push_back(series_row(each, fractions));
  return element(
      "section", {{"class", "all"}},
      {element("h2", {}, {"All series of all reports"}),
       element("table", {{"class", "sortable"}, {"role", "table"}},
               {element("caption", {},
                        {"Figures as each report has them. They are not a verdict: whether two differ is said above. † "
                         "So rare that it may be the host’s noise."}),
                element("thead", {{"role", "rowgroup"}}, {std::move(head)}),
                element("tbody", {{"role", "rowgroup"}}, std::move(rows))})});
}

}  // namespace qd1::html
