// SPDX-License-Identifier: BSL-1.0
#include "overview.hpp"

#include "chart.hpp"
#include "quantity.hpp"
#include "scale.hpp"
#include "verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <vector>

namespace qd1::html {
namespace {

constexpr int row_height = 26;  // CSS pixels
constexpr std::size_t most_labels = 5;

// The rarest of p99 and p99.9 that has samples enough; else the maximum that was seen.
double tail_of(const series& from) {
  for (const double fraction : {0.999, 0.99})
    if (const estimate* value = percentile_in(from, fraction)) return value->value;
  return from.latency.max;
}

double middle_of(const series& from) {
  const estimate* value = median(from);
  return value ? value->value : from.latency.mean.value;
}

double shoulder_of(const series& from) {
  const estimate* value = percentile_in(from, 0.99);
  return value ? value->value : middle_of(from);
}

std::vector<const curve*> by_median(const panel& from) {
  std::vector<const curve*> found;
  found.reserve(from.curves.size());
  for (const curve& each : from.curves) found.push_back(&each);
  std::ranges::stable_sort(found, {}, [](const curve* each) {
    return each->timed() ? middle_of(*each->series) : std::numeric_limits<double>::max();
  });
  return found;
}

log_scale scale_of(const panel& from) {
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const curve& each : from.curves) {
    if (!each.timed()) continue;
    low = std::min(low, middle_of(*each.series) * 0.9);
    high = std::max(high, tail_of(*each.series));
  }
  return {low, high};
}

node bar(const std::string& shape, double from, double to, int top, int height) {
  return element("rect", {{"class", shape},
                          {"x", percent_of_width(from)},
                          {"width", percent_of_width(std::max(to - from, 0.002))},
                          {"y", fmt::format("{}", top)},
                          {"height", fmt::format("{}", height)}});
}

// A dot at the median with its interval, thick up to p99, thin up to p99.9.
node drawing(const curve& which, const log_scale& x) {
  const series& from = *which.series;
  const double middle = x(middle_of(from)), shoulder = x(shoulder_of(from));
  nodes shapes = {element("title", {},
                          {fmt::format("{}: median {}, p99 {}", which.name, duration_text(middle_of(from)),
                                       duration_text(shoulder_of(from)))})};
  for (const tick& each : x.ticks(most_labels)) {
    const std::string at = percent_of_width(each.at);
    shapes.push_back(
        element("line", {{"x1", at}, {"x2", at}, {"y1", "-2"}, {"y2", fmt::format("{}", row_height + 4)}}));
  }
  shapes.push_back(bar("stem", 0, middle, 12, 2));
  shapes.push_back(bar("tail", shoulder, x(tail_of(from)), 12, 2));
  shapes.push_back(bar("body", middle, shoulder, 8, 10));
  if (const estimate* value = median(from); value && value->interval)
    shapes.push_back(bar("sure", x(value->interval->low), x(value->interval->high), 4, 18));
  shapes.push_back(
      element("circle", {{"cx", percent_of_width(middle)}, {"cy", "13"}, {"r", which.dashed ? "4.5" : "5.5"}}));
  return element("svg",
                 {{"class", "rank " + which.classes()}, {"role", "img"}, {"height", fmt::format("{}", row_height)}},
                 std::move(shapes));
}

// Empty if it does not differ from the second, or is alone, as the sentence above says.
std::string title_of_first(const std::vector<const curve*>& ranked) {
  if (ranked.size() < 2) return "";
  const estimate *first = median(*ranked[0]->series),
                 *second = ranked[1]->timed() ? median(*ranked[1]->series) : nullptr;
  return first && second && !is_known_to_differ(ratio(*second, *first)) ? "" : "fastest";
}

// How many times as slow as the first; empty where that may be chance.
std::string times_of(const series& from, const series& first) {
  const estimate *own = median(from), *least = median(first);
  if (!own || !least || !is_known_to_differ(ratio(*own, *least))) return "";
  const double times = middle_of(from) / middle_of(first);
  return times > 1.0005 ? ratio_text(times) : "";
}

node overview_row(const curve& which, const log_scale& x, const std::string& rank) {
  node name = element("span", {{"class", "name " + which.hue}}, {which.short_name});
  const series& from = *which.series;
  if (!which.timed()) {
    const bool invalid = !from.invalid.empty();
    const char* const why = invalid            ? "INVALID: not shown"
                            : which.measured() ? "the clock was not read"
                                               : "not available here";
    return element("li", {{"class", invalid ? "refused" : "missing"}},
                   {std::move(name), element("span", {{"class", "why"}}, {why})});
  }
  const amount median = duration(middle_of(from));
  return element(
      "li", {},
      {std::move(name), drawing(which, x),
       element("span", {{"class", "what"}},
               {element("b", {}, {median.number}), " ", std::string(median.unit), element("small", {}, {rank})})});
}

node axis(const log_scale& x) {
  node marks = element("svg", {{"class", "axis"}, {"height", "18"}, {"aria-hidden", "true"}});
  const std::vector<tick> ticks = x.ticks(most_labels);
  for (std::size_t each = 0; each < ticks.size(); ++each)
    marks.add(element("text",
                      {{"class", each % 2 == 0 ? "x" : "x minor"},  // every other one goes where it is narrow
                       {"x", percent_of_width(ticks[each].at)},
                       {"y", "14"}},
                      {ticks[each].label}));
  return marks;
}

}  // namespace

node overview(const panel& from, bool names_fastest) {
  const std::vector<const curve*> ranked = by_median(from);
  const log_scale x = from.any_timed() ? scale_of(from) : log_scale(100, 1e6);
  node list = element("ol", {{"class", "ranks"}});
  const auto rank_of = [&](const curve* each) -> std::string {
    if (!names_fastest || !each->timed()) return "";
    return each == ranked.front() ? title_of_first(ranked) : times_of(*each->series, *ranked.front()->series);
  };
  for (const curve* each : ranked) list.add(overview_row(*each, x, rank_of(each)));
  list.add(element("li", {{"class", "scale"}}, {element("span"), axis(x), element("span")}));
  return list;
}

}  // namespace qd1::html
