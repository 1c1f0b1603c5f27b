// SPDX-License-Identifier: BSL-1.0
#include "profile_panel.hpp"

#include "../figures.hpp"
#include "cells.hpp"
#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/findings/profile_rows.hpp>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace qd1::html {
namespace {

std::string name_of_row(const work& what) {
  if (what.load.share == 1) return mark_name(what);
  return fmt::format("{}, {}s", mark_name(what), name(what.operation));
}

// "SEQ Q8", for charts.
std::string short_name_of(const work& what) {
  const std::string row = mark_name(what);
  return fmt::format("{} Q{}", row.substr(0, row.find_first_of("0123456789")), what.load.depth);
}

panel panel_of(const profile_group& group, const report& run) {
  const work& first = group.rows.front().parts.front()->work;
  panel made{group.title,
             fmt::format("{}, within {}; SEQ, RND: sequential or random blocks; Q: transfers in flight for each of T "
                         "threads",
                         name(first.mode), size_text(first.working_set)),
             {},
             run.clock.floor_ns};
  for (std::size_t row = 0; row < group.rows.size(); ++row)
    for (const series* each : group.rows[row].parts) {
      const bool dashed = each->work.load.share < 1 && each->work.operation == operation::write;
      const std::string called = name_of_row(each->work);
      made.curves.push_back({each, called, short_name_of(each->work), fmt::format("run{}", row % 6 + 1), dashed,
                             each->trusted_fraction.value_or(1)});
    }
  made.strokes = "Dashed: the writes of a mix";
  return made;
}

std::string megabytes(double bytes_per_second) {
  return figure_amount(qd1::unit::megabytes_per_second, bytes_per_second / 1e6).number;
}

// The columns of a profile: throughput, MB/s first, as in the tools that the profiles are from; percentiles; and what
// other pages have beside percentiles.
struct columns {
  std::vector<const figure*> throughput;
  std::vector<double> percentiles;
  std::vector<const figure*> others;

  std::size_t count() const { return throughput.size() + percentiles.size() + others.size(); }
  std::vector<std::string> headings() const {
    std::vector<std::string> found = {""};
    for (const figure* each : throughput) found.emplace_back(each->label);
    for (const double each : percentiles) found.push_back(percentile_text(each));
    for (const figure* each : others) found.emplace_back(each->label);
    return found;
  }
};

columns columns_of(const panel& from, const report& run) {
  std::vector<const series*> rows;
  for (const curve& each : from.curves) rows.push_back(each.series);
  columns found{{}, percentiles_of_loads(run.settings), {}};
  for (const figure* each : figures_of_loads(rows)) {
    if (is_throughput(*each))
      found.throughput.push_back(each);
    else if (each->on_page == page_table::figures)
      found.others.push_back(each);
  }
  std::ranges::stable_partition(found.throughput,
                                [](const figure* each) { return each->unit == qd1::unit::megabytes_per_second; });
  return found;
}

node figure_cell(const figure& which, const series& of) {
  const auto found = which.of(of);
  if (!found) return cell(which.label, {"–"});
  const amount text = figure_amount(which.unit, found->value);
  if (is_throughput(which)) return cell(which.label, {element("b", {}, {text.number})});
  return cell(which.label, {text.unit.empty() ? text.number : fmt::format("{} {}", text.number, text.unit)});
}

nodes quantile(const series& of, double fraction) {
  const estimate* const found = percentile_in(of, fraction);
  return {found ? duration_text(found->value) : std::string("–")};
}

// `is_sum`: of the reads and writes of a mix, whose throughput alone adds up.
node row_of(const std::string& called, std::string_view hue, const series& of, const columns& shown, bool is_sum) {
  node found = element("tr", {{"role", "row"}, {"class", std::string(hue)}},
                       {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {called})});
  for (const figure* each : shown.throughput) found.add(figure_cell(*each, of));
  for (const double each : shown.percentiles)
    found.add(cell(percentile_text(each), is_sum ? nodes{""} : quantile(of, each)));
  for (const figure* each : shown.others) found.add(is_sum ? cell(each->label, {""}) : figure_cell(*each, of));
  return found;
}

node without_figures(const curve& which, const columns& shown) {
  const bool refused = !which.series->invalid.empty();
  return element("tr", {{"role", "row"}, {"class", refused ? "refused" : "missing"}},
                 {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {which.name}),
                  element("td", {{"role", "cell"}, {"class", "why"}, {"colspan", fmt::format("{}", shown.count())}},
                          {refused ? "INVALID: not shown" : "not available here"})});
}

// Of the row that a curve begins, if it is a mix: its reads and writes together.
node together(const panel& from, const curve& first, const columns& shown) {
  series both;
  for (const curve& each : from.curves) {
    if (mark_name(each.series->work) != mark_name(first.series->work)) continue;
    if (!each.measured()) return "";
    both.bytes_per_second += each.series->bytes_per_second;
    both.iops += each.series->iops;
  }
  return row_of(mark_name(first.series->work), first.hue, both, shown, true);
}

}  // namespace

bool shows_profile(std::span<const named_report> runs) {
  return runs.size() == 1 && !runs.front().run->settings.profile.empty();
}

std::vector<panel> panels_of_profile(const report& run) {
  std::vector<panel> found;
  for (const profile_group& each : profile_groups(run)) found.push_back(panel_of(each, run));
  return found;
}

std::string verdict_of_profile(const panel& from) {
  struct total {
    std::string name;
    double bytes_per_second = 0, iops = 0;
  };
  std::vector<total> rows;
  for (const curve& each : from.curves) {
    if (!each.measured()) continue;
    const std::string called = mark_name(each.series->work);
    if (rows.empty() || rows.back().name != called) rows.push_back({called});
    rows.back().bytes_per_second += each.series->bytes_per_second;
    rows.back().iops += each.series->iops;
  }
  if (rows.empty()) return "";
  const total& widest = *std::ranges::max_element(rows, {}, &total::bytes_per_second);
  const total& most = *std::ranges::max_element(rows, {}, &total::iops);
  return fmt::format("Up to {} MB/s ({}) and {} operations a second ({}).", megabytes(widest.bytes_per_second),
                     widest.name, rate_text(most.iops), most.name);
}

node profile_table(const panel& from, const report& run) {
  const columns shown = columns_of(from, run);
  nodes rows;
  for (const curve& each : from.curves) {
    const work& what = each.series->work;
    if (what.load.share < 1 && what.operation == operation::read)
      if (node both = together(from, each, shown); !both.empty()) rows.push_back(std::move(both));
    rows.push_back(each.measured() ? row_of(each.name, each.hue, *each.series, shown, false)
                                   : without_figures(each, shown));
  }
  return table("figures", "MB: 10⁶ bytes.", shown.headings(), std::move(rows));
}

}  // namespace qd1::html
