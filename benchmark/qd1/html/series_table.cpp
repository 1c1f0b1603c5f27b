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

std::string in_words(const amount& of) {
  return of.unit.empty() ? of.number : of.number + no_break_space + std::string(of.unit);
}

// `is_trusted`: it is not the host's noise.
node value_cell(qd1::unit unit, const std::optional<estimate>& found, bool is_trusted = true) {
  if (!found) return sortable_cell("–", std::nullopt);
  return sortable_cell(in_words(figure_amount(unit, found->value)) + (is_trusted ? "" : "†"), found->value);
}

node latency_cell(const series& of, double fraction, bool is_trusted) {
  const auto which = std::ranges::find_if(
      of.latency.percentiles, [&](const percentile& each) { return std::abs(each.fraction - fraction) < 1e-9; });
  if (which == of.latency.percentiles.end()) return sortable_cell("–", std::nullopt);
  if (!which->value) return sortable_cell(fmt::format("needs {}", count_text(which->samples_needed)), std::nullopt);
  return value_cell(qd1::unit::nanoseconds, which->value, is_trusted);
}

// Those that every series has.
std::vector<const figure*> shown_figures() {
  std::vector<const figure*> found;
  for (const figure& each : figures_of_series())
    if (each.in_runs == visibility::always) found.push_back(&each);
  return found;
}

std::string why_no_figures(const series& of) {
  if (!of.not_available.empty()) return "Not available: " + of.not_available;
  if (!of.invalid.empty()) return fmt::format("INVALID: {}", fmt::join(of.invalid, "; "));
  return of.latency.samples == 0 ? "Not measured." : "";
}

node series_row(const entry& of, const std::vector<double>& fractions, const std::vector<const figure*>& figures) {
  const series& found = *of.found;
  const std::string why = why_no_figures(found);
  const std::string kind = why.empty() ? (found.complete ? "" : "cut") : found.invalid.empty() ? "missing" : "refused";
  node cells = element("tr", {{"role", "row"}, {"class", kind}},
                       {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {qd1::title(found.work)}),
                        element("td", {{"role", "cell"}}, {of.run->name})});
  if (!why.empty()) {
    const std::string columns = fmt::format("{}", fractions.size() + figures.size());
    return cells.add(element("td", {{"role", "cell"}, {"class", "why"}, {"colspan", columns}}, {why}));
  }
  const auto is_trusted = [up_to = trusted(found, *of.run->run)](double fraction) { return fraction <= up_to + 1e-12; };
  for (const double each : fractions) cells.add(latency_cell(found, each, is_trusted(each)));
  const bool noisy = !is_trusted(1 - 1 / static_cast<double>(found.latency.samples));
  for (const figure* each : figures)
    cells.add(value_cell(each->unit, each->of(found), !(each->of_one_sample && noisy)));
  return cells;
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
  const std::vector<const figure*> figures = shown_figures();
  for (const figure* each : figures) head.add(heading(std::string(each->label), "number"));
  nodes rows;
  rows.reserve(all.size());
  for (const entry& each : all) rows.push_back(series_row(each, fractions, figures));
  return element(
      "section", {{"class", "all"}},
      {element("h2", {}, {"All series of all reports"}),
       element("table", {{"class", "sortable"}, {"role", "table"}},
               {element("caption", {},
                        {"The figures of each report. They are not a verdict: see above whether two differ. † So rare "
                         "that it may be the host’s noise."}),
                element("thead", {{"role", "rowgroup"}}, {std::move(head)}),
                element("tbody", {{"role", "rowgroup"}}, std::move(rows))})});
}

}  // namespace qd1::html
