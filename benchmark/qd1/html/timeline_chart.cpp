// SPDX-License-Identifier: BSL-1.0
#include "timeline_chart.hpp"

#include "chart.hpp"
#include "path.hpp"
#include "scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace qd1::html {
namespace {

// What is drawn of a slice; none: not told.
using reading = std::function<std::optional<double>(const slice&)>;

struct subject {
  std::string_view title;
  std::string_view unit;  ///< in the read-out
  std::string_view caption;
  reading of;
  bool at_ends;  ///< of the slices: a moment, not what went on meanwhile; else in their middle, and perhaps logarithmic
};

constexpr double shortest = 0.5;  // seconds: of less than that a pause is the rate

// Several rounds lie apart in time; slices shorter than a second belong to another picture (strips).
bool has_seconds(const curve& which) {
  const std::vector<slice>& slices = which.series->slices;
  return which.measured() && which.series->rounds.size() == 1 && slices.size() >= 2 && slices.front().seconds > 0.9;
}

double end_of(const panel& from) {
  double end = 0;
  for (const curve& each : from.curves)
    if (has_seconds(each)) end = std::max(end, each.series->slices.back().start + each.series->slices.back().seconds);
  return end;
}

struct ends {
  double low = std::numeric_limits<double>::max();
  double high = 0;
};

ends ends_of(const panel& from, const reading& of) {
  ends found;
  for (const curve& each : from.curves) {
    if (!has_seconds(each)) continue;
    for (const slice& second : each.series->slices)
      if (const auto value = of(second); value && second.seconds >= shortest) {
        if (*value > 0) found.low = std::min(found.low, *value);
        found.high = std::max(found.high, *value);
      }
  }
  return found;
}

std::vector<point> timeline_points(const curve& which, const subject& what, double end, const count_scale& y) {
  std::vector<point> line;
  for (const slice& each : which.series->slices)
    if (const auto value = what.of(each); value && each.seconds >= shortest)
      line.push_back({(each.start + each.seconds * (what.at_ends ? 1 : 0.5)) / end, y(*value)});
  return line;
}

std::vector<tick> time_ticks(double end) {
  const double decade = std::pow(10, std::floor(std::log10(end)));
  const double step = decade * (end > 5 * decade ? 1 : end > 2 * decade ? 0.5 : 0.2);
  std::vector<tick> found;
  for (double at = 0; at <= end; at += step)
    found.push_back({at / end, fmt::format("{:.3g}\u00a0s", at), found.size() % 2 == 1});
  return found;
}

node timeline_chart(const panel& from, const subject& what) {
  const double end = end_of(from);
  const ends range = ends_of(from, what.of);
  if (end < shortest || range.high <= 0) return "";  // the last slice of a forged report may lie anywhere
  const count_scale y(range.high, what.at_ends ? 0 : range.low);
  nodes lines;
  std::vector<start_label> starts;
  for (const curve& each : from.curves) {
    if (!has_seconds(each)) continue;
    const std::vector<point> line = timeline_points(each, what, end, y);
    if (line.empty()) continue;
    lines.push_back(curve_line(each, line));
    starts.push_back({&each, line.front().y});
  }
  return figure_of({std::string(what.title),
                    std::string(what.caption),
                    "timeline",
                    {{"data-low", fmt::format("{:.6g}", y.low())},
                     {"data-high", fmt::format("{:.6g}", y.high())},
                     {"data-scale", y.is_logarithmic() ? "logarithmic" : "linear"},
                     {"data-unit", std::string(what.unit)},
                     {"data-seconds", fmt::format("{:.6g}", end)}},
                    {horizontal_grid(y.ticks(), side::right), vertical_grid(time_ticks(end)),
                     stretched(std::move(lines)), start_labels(std::move(starts))},
                    fmt::format("{}{}", what.caption, y.is_logarithmic() ? " Logarithmic." : "")});
}

std::optional<double> number(const std::optional<std::uint64_t>& value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

node throughput_timeline(const panel& from) {
  const auto rate = [](const slice& each) -> std::optional<double> {
    return static_cast<double>(each.operations) / each.seconds;
  };
  return timeline_chart(
      from, {"Throughput, second by second", "/s", "Operations per second over the time of each series.", rate, false});
}

nodes memory_timelines(const panel& from) {
  nodes found;
  const auto add = [&](const subject& what) {
    if (node chart = timeline_chart(from, what); !chart.empty()) found.push_back(std::move(chart));
  };
  add({"Pages in memory", " pages", "Pages of the file in memory, at the end of each second.",
       [](const slice& each) { return number(each.cached_pages); }, true});
  add({"Dirty memory", " MiB", "MiB not yet written back, including what is being written, at the end of each second.",
       [](const slice& each) -> std::optional<double> {
         if (!each.dirty_bytes) return std::nullopt;
         return static_cast<double>(*each.dirty_bytes) / 0x1p20;
       },
       true});
  return found;
}

}  // namespace qd1::html
