// SPDX-License-Identifier: BSL-1.0
#include "table.hpp"

#include "../withheld.hpp"
#include "cells.hpp"
#include "quantity.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

namespace qd1::html {
namespace {

node row(const curve& which, std::string_view kind = "") {
  node cells = element("tr", {{"role", "row"}, {"class", which.hue + std::string(kind)}});
  cells.add(element("th", {{"scope", "row"}, {"role", "rowheader"}},
                    {element("span", {{"class", which.dashed ? "key dashed" : "key"}}), which.name}));
  return cells;
}

// One cell over all columns, with words in place of figures.
node words(const curve& which, std::string_view kind, std::size_t columns, nodes contents) {
  node found = row(which, fmt::format(" {}", kind));
  found.add(element("td", {{"role", "cell"}, {"class", "why"}, {"colspan", fmt::format("{}", columns)}},
                    std::move(contents)));
  return found;
}

// `mark`: a sign that the caption explains.
nodes quantity(const estimate& from, std::string_view mark = "") {
  const amount text = duration(from.value);
  nodes contents = {text.number, no_break_space, element("small", {}, {std::string(text.unit) + std::string(mark)})};
  if (from.interval)
    contents.push_back(element("span", {{"class", "interval"}}, {interval_text(*from.interval, from.value)}));
  return contents;
}

// The same of any unit. `mark` as above.
nodes quantity(qd1::unit unit, const estimate& from, std::string_view mark = "") {
  if (unit == qd1::unit::nanoseconds) return quantity(from, mark);
  const auto text = [&](double value) { return figure_amount(unit, value).number; };
  nodes contents = {text(from.value) + std::string(mark)};
  if (from.interval)
    contents.push_back(element("span", {{"class", "interval"}},
                               {fmt::format("{}–{}", text(from.interval->low), text(from.interval->high))}));
  return contents;
}

nodes not_known(const percentile& which) {
  return {"n/a", element("span", {{"class", "interval"}}, {fmt::format("needs {}", count_text(which.samples_needed))})};
}

std::vector<double> fractions_of(const panel& from) {
  std::vector<double> found;
  for (const curve& each : from.curves)
    for (const percentile& which : each.series->latency.percentiles)
      if (std::ranges::find(found, which.fraction) == found.end()) found.push_back(which.fraction);
  std::ranges::sort(found);
  return found;
}

// A percentile, and the best figure for it.
struct percentile_column {
  double fraction;
  double least;
};

double least(const panel& from, double fraction) {
  double found = std::numeric_limits<double>::max();
  for (const curve& each : from.curves)
    if (const estimate* value = each.measured() ? percentile_in(*each.series, fraction) : nullptr)
      found = std::min(found, value->value);
  return found;
}

std::vector<percentile_column> columns_of(const panel& from) {
  std::vector<percentile_column> found;
  for (const double fraction : fractions_of(from)) found.push_back({fraction, least(from, fraction)});
  return found;
}

bool untrusted(const curve& which, double fraction) { return fraction > which.trusted + 1e-12; }

node percentile_cell(const curve& shown, const percentile_column& in) {
  const series& of = *shown.series;
  const std::string name = percentile_text(in.fraction);
  const auto which = std::ranges::find(of.latency.percentiles, in.fraction, &percentile::fraction);
  if (which == of.latency.percentiles.end()) return cell(name, {"–"}, "unknown");
  if (!which->value) return cell(name, not_known(*which), "unknown");
  const bool best = which->value->value <= in.least;
  if (untrusted(shown, in.fraction)) return cell(name, quantity(*which->value, "†"), "untrusted");
  return cell(name, quantity(*which->value), best ? "best" : "");
}

// The figures that a table of the panel shows: some only where a series has them.
std::vector<const figure*> figures_in(page_table in, const panel& from) {
  std::vector<const figure*> found;
  for (const figure& each : figures_of_series()) {
    const auto has = [&](const curve& which) { return which.measured() && each.of(*which.series).has_value(); };
    if (each.on_page == in && (each.in_runs == visibility::always || std::ranges::any_of(from.curves, has)))
      found.push_back(&each);
  }
  return found;
}

node figure_cell(const curve& row, const figure& which) {
  const auto found = which.of(*row.series);
  if (!found) return cell(which.label, {"–"}, "unknown");
  const bool noisy = which.of_one_sample && untrusted(row, 1 - 1 / static_cast<double>(row.series->latency.samples));
  return cell(which.label, quantity(which.unit, *found, noisy ? "†" : ""), noisy ? "untrusted" : "");
}

node figures_row(const curve& which, const std::vector<percentile_column>& percentiles,
                 const std::vector<const figure*>& others) {
  const series& of = *which.series;
  const std::size_t columns = percentiles.size() + others.size();
  if (!of.not_available.empty()) return words(which, "missing", columns, {"Not available here: " + of.not_available});
  if (!of.invalid.empty())
    return words(which, "refused", columns,
                 {element("b", {}, {"INVALID"}), fmt::format(" – no figures: {}", fmt::join(of.invalid, "; "))});
  if (of.latency.samples == 0) return words(which, "missing", columns, {"Not measured."});
  node found = row(which, of.complete ? "" : " cut");
  for (const percentile_column& each : percentiles) found.add(percentile_cell(which, each));
  for (const figure* each : others) found.add(figure_cell(which, *each));
  return found;
}

// What the intervals of the table cover: of one kind, unless a page compares runs of both.
std::string scopes_of(const panel& from) {
  std::vector<std::string> found;
  for (const curve& each : from.curves)
    if (std::string covered = interval_scope(*each.series);
        each.measured() && std::ranges::find(found, covered) == found.end())
      found.push_back(std::move(covered));
  return found.empty() ? std::string(name(scope::within_run)) : fmt::format("{}", fmt::join(found, " or "));
}

std::string path_taken(const service& by) {
  struct way {
    std::string_view name;
    std::uint64_t count;
  };
  std::vector<std::string> found;
  for (const way& each :
       {way{"inline", by.by_inline}, way{is_by_linux_aio(by) ? "by Linux AIO" : "through the ring", by.by_ring},
        way{"on worker threads", by.by_worker}})
    if (each.count != 0) found.push_back(fmt::format("{} {}", count_text(each.count), each.name));
  if (found.empty()) return engine_text(by);
  return fmt::format("{}: {}", engine_text(by), fmt::join(found, ", "));
}

node verification_text(const verification& from) {
  const auto line = [&](std::string_view kind, const char* sign) {
    return element("p", {{"class", std::string(kind)}}, {sign + from.text});
  };
  switch (from.result) {
    case verification::verdict::verified: return line("good", "✓ ");
    case verification::verdict::refuted: return line("bad", "✗ ");
    case verification::verdict::unknown: return line("doubtful", "? ");
    case verification::verdict::not_applicable: break;
  }
  return line("", "");
}

nodes remarks(const series& of) {
  nodes found;
  const auto add = [&](std::string text) { found.push_back(element("p", {}, {std::move(text)})); };
  if (!of.verification.text.empty()) found.push_back(verification_text(of.verification));
  if (!of.complete)
    found.push_back(element("p", {{"class", "doubtful"}}, {"Interrupted: fewer samples than requested."}));
  for (const std::string& reason : of.invalid) found.push_back(element("p", {{"class", "bad"}}, {"✗ " + reason}));
  if (of.steady == false)
    found.push_back(
        element("p", {{"class", "doubtful"}},
                {fmt::format("Not steady: {}.", of.unsettled.empty() ? "the latency had not settled" : of.unsettled)}));
  if (of.measured())
    for (std::string& reason : missing_intervals(of.latency)) {
      reason.front() = 'N';
      add(reason + ".");
    }
  if (!of.service.reason.empty()) add(of.service.reason);
  for (const std::string& lack : of.service.lacking) add("Not " + lack);
  for (const std::string& note : of.notes) add(note);
  if (found.empty()) found.push_back("–");
  return found;
}

nodes of_run(const contribution& run, double fraction) {
  for (const percentile& each : run.percentiles)
    if (each.fraction == fraction) return each.value ? quantity(*each.value) : not_known(each);
  return {"–"};
}

node run_row(const curve& which, const contribution& run) {
  node found = row(which);
  found.add(cell("run", {run.name}));
  found.add(cell("samples", {count_text(run.samples)}));
  found.add(cell("p50", of_run(run, 0.5)));
  found.add(cell("p99", of_run(run, 0.99)));
  found.add(cell("max", quantity({run.max, {}})));
  found.add(cell("IOPS", {rate_text(run.iops)}));
  return found;
}

node evidence_row(const curve& which, const std::vector<const figure*>& figures) {
  const series& of = *which.series;
  node found = row(which);
  for (const figure* each : figures) found.add(figure_cell(which, *each));
  found.add(cell("time", {of.measured() ? fmt::format("{:.3g}\u00a0s", of.seconds) : "–"}));
  found.add(cell("served by", {path_taken(of.service)}, "prose"));
  found.add(cell("checks and notes", remarks(of), "prose"));
  return found;
}

}  // namespace

node figures_table(const panel& from) {
  const std::vector<percentile_column> percentiles = columns_of(from);
  std::vector<std::string> columns = {"Mode"};
  for (const percentile_column& each : percentiles) columns.push_back(percentile_text(each.fraction));
  const std::vector<const figure*> others = figures_in(page_table::figures, from);
  for (const figure* each : others) columns.emplace_back(each->label);
  nodes rows;
  for (const curve& each : from.curves) rows.push_back(figures_row(each, percentiles, others));
  std::string caption =
      fmt::format("Latency with 95 % intervals {}, the best of each column in bold.", scopes_of(from));
  if (std::ranges::any_of(from.curves, [](const curve& each) { return each.trusted < 1; }))
    caption += " † So rare that it may be the host’s noise.";
  return table("figures", caption, columns, std::move(rows));
}

node runs_table(const panel& from) {
  nodes rows;
  std::size_t most = 0;
  for (const curve& each : from.curves)
    for (const contribution& run : each.series->contributions) {
      rows.push_back(run_row(each, run));
      most = std::max(most, repetitions(*each.series));
    }
  if (most == 0) return "";
  return table("figures runs", "The runs one by one, with 95 % intervals within each.",
               {"Mode", "run", "samples", "p50", "p99", "max", "IOPS"}, std::move(rows));
}

node evidence_table(const panel& from) {
  const std::vector<const figure*> figures = figures_in(page_table::evidence, from);
  nodes rows;
  for (const curve& each : from.curves)
    if (each.series->not_available.empty()) rows.push_back(evidence_row(each, figures));
  if (rows.empty()) return "";
  std::vector<std::string> columns = {"Mode"};
  for (const figure* each : figures) columns.emplace_back(each->label);
  for (const char* name : {"time", "served by", "checks and notes"}) columns.emplace_back(name);
  return table("evidence", "What the figures are based on.", columns, std::move(rows));
}

}  // namespace qd1::html
