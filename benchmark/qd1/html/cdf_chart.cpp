// SPDX-License-Identifier: BSL-1.0
#include "cdf_chart.hpp"

#include "chart.hpp"
#include "distribution.hpp"
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace qd1::html {
namespace {

// The tail is a flat line here, and has its own chart.
constexpr double most = 0.999;

log_scale latency_scale(const panel& from) {
  double low = std::numeric_limits<double>::max(), high = 0;
  for (const curve& each : from.curves) {
    if (!each.drawable()) continue;
    low = std::min(low, each.series->latency.min);
    high = std::max(high, distribution(each.series->latency).at(most));
  }
  return {low, high};
}

std::vector<point> line_of(const distribution& seen, const log_scale& x) {
  std::vector<point> line;
  for (const auto& [fraction, ns] : seen.quantiles()) line.push_back({x(ns), fraction});
  line.push_back({1, 1});
  return line;
}

struct place {
  const curve* which;
  double x;
};

std::string name_of(const place& of) {
  const std::string& name = of.which->short_name;
  return name.substr(0, std::min(name.find(" async"), name.find(", async")));
}

// One name for each hue, above the plot where its curve crosses the half: the forms of a mode lie too close together.
node names(const panel& from, const log_scale& x) {
  std::vector<place> places;
  for (const curve& each : from.curves) {
    if (!each.drawable()) continue;
    if (std::ranges::any_of(places, [&](const place& other) { return other.which->hue == each.hue; })) continue;
    places.push_back({&each, x(distribution(each.series->latency).at(0.5))});
  }
  std::ranges::sort(places, {}, &place::x);
  // Between the middles of two names, of the width.
  const auto room = [](const place& left, const place& right) {
    constexpr double least = 0.17, letter = 0.024;
    const auto letters = static_cast<double>(name_of(left).size() + name_of(right).size()) / 2;
    return std::max(least, letters * letter);
  };
  for (std::size_t each = 1; each < places.size(); ++each)
    places[each].x = std::max(places[each].x, places[each - 1].x + room(places[each - 1], places[each]));
  double limit = 0.95;
  for (std::size_t each = places.size(); each-- > 0;) {
    places[each].x = std::min(places[each].x, limit);
    if (each != 0) limit = places[each].x - room(places[each - 1], places[each]);
  }

  node group = element("g", {{"class", "names"}});
  for (const place& each : places)
    group.add(
        element("text", {{"class", each.which->hue}, {"x", percent_of_width(each.x)}, {"y", "-7"}}, {name_of(each)}));
  return group;
}

std::vector<tick> share_ticks() {
  std::vector<tick> found;
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) found.push_back({share, percent_text(share)});
  return found;
}

std::string cdf_description(const panel& from) {
  std::string text = "Cumulative share of the operations over latency, on a logarithmic axis.";
  for (const curve& each : from.curves)
    if (const estimate* half = each.measured() ? median(*each.series) : nullptr)
      text += fmt::format(" Half of {}: at most {}.", each.name, duration_text(half->value));
  return text;
}

}  // namespace

node cdf_chart(const panel& from) {
  const log_scale x = latency_scale(from);
  nodes curves;
  for (const curve& each : from.curves)
    if (each.drawable()) curves.push_back(curve_line(each, simplified(line_of(distribution(each.series->latency), x))));
  nodes layers = {horizontal_grid(share_ticks()), vertical_grid(x.ticks(6)), stretched(std::move(curves)),
                  names(from, x)};
  return figure_of(
      {"Distribution: where most latencies lie",
       cdf_description(from),
       "cdf",
       {{"data-low", fmt::format("{:.6g}", x.low())}, {"data-high", fmt::format("{:.6g}", x.high())}},
       std::move(layers),
       "The share of operations that completed within that time. Farther left is better; steeper is steadier."});
}

}  // namespace qd1::html
