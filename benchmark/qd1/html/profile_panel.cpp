// SPDX-License-Identifier: BSL-1.0
#include "profile_panel.hpp"

#include "cells.hpp"
#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/findings/profile_rows.hpp>

#include <algorithm>
#include <utility>

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
  const double megabytes = bytes_per_second / 1e6;
  return fmt::format("{:.{}f}", megabytes, megabytes >= 100 ? 0 : megabytes >= 10 ? 1 : 2);
}

nodes quantile(const series& of, double fraction) {
  const estimate* const found = percentile_in(of, fraction);
  return {found ? duration_text(found->value) : std::string("–")};
}

node row_of(const std::string& called, std::string_view hue, double bytes_per_second, double iops, const series* of) {
  node found = element("tr", {{"role", "row"}, {"class", std::string(hue)}},
                       {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {called})});
  found.add(cell("MB/s", {element("b", {}, {megabytes(bytes_per_second)})}));
  found.add(cell("IOPS", {rate_text(iops)}));
  for (const double each : {0.5, 0.99})
    found.add(cell(percentile_text(each), of == nullptr ? nodes{""} : quantile(*of, each)));
  return found;
}

node without_figures(const curve& which) {
  const bool refused = !which.series->invalid.empty();
  return element("tr", {{"role", "row"}, {"class", refused ? "refused" : "missing"}},
                 {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {which.name}),
                  element("td", {{"role", "cell"}, {"class", "why"}, {"colspan", "4"}},
                          {refused ? "INVALID: not shown" : "not available here"})});
}

// Of the row that a curve begins, if it is a mix: its reads and writes together.
node together(const panel& from, const curve& first) {
  double bytes = 0, iops = 0;
  for (const curve& each : from.curves) {
    if (mark_name(each.series->work) != mark_name(first.series->work)) continue;
    if (!each.measured()) return "";
    bytes += each.series->bytes_per_second;
    iops += each.series->iops;
  }
  return row_of(mark_name(first.series->work), first.hue, bytes, iops, nullptr);
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

node profile_table(const panel& from) {
  nodes rows;
  for (const curve& each : from.curves) {
    const series& of = *each.series;
    if (of.work.load.share < 1 && of.work.operation == operation::read)
      if (node both = together(from, each); !both.empty()) rows.push_back(std::move(both));
    rows.push_back(each.measured() ? row_of(each.name, each.hue, of.bytes_per_second, of.iops, &of)
                                   : without_figures(each));
  }
  return table("figures", "MB: 10⁶ bytes.", {"", "MB/s", "IOPS", "p50", "p99"}, std::move(rows));
}

}  // namespace qd1::html
