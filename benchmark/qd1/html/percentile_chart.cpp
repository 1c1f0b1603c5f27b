// SPDX-License-Identifier: BSL-1.0
#include "percentile_chart.hpp"

#include "chart.hpp"
#include "distribution.hpp"
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>

namespace qd1::html {
namespace {

struct axes {
  percentile_scale x;
  log_scale y;

  point operator()(double fraction, double ns) const { return {x(fraction), y(ns)}; }
};

axes axes_of(const panel& from) {
  double decades = 1, low = std::numeric_limits<double>::max(), high = 0;
  for (const curve& each : from.curves) {
    if (!each.drawable()) continue;
    const latency& seen = each.series->latency;
    decades = std::max(decades, std::log10(2 * static_cast<double>(seen.samples)));
    low = std::min(low, seen.min);
    high = std::max(high, seen.max);
  }
  return {percentile_scale(decades), log_scale(low, high)};
}

node band(const curve& which, const distribution& from, const axes& to) {
  std::vector<point> low, high;
  for (const auto& [fraction, bounds] : from.band()) {
    low.push_back(to(fraction, bounds.low));
    high.push_back(to(fraction, bounds.high));
  }
  return element("path", {{"class", "band " + which.hue}, {"d", area_path(simplified(low), simplified(high))}});
}

// The part of the curve between two percentiles.
std::vector<point> part(const distribution& from, const axes& to, double begin, double end) {
  std::vector<point> found = {to(begin, from.at(begin))};
  for (const auto& [fraction, ns] : from.quantiles())
    if (fraction > begin && fraction < end) found.push_back(to(fraction, ns));
  found.push_back(to(end, from.at(end)));
  return simplified(found);
}

// As far as it can be trusted; then what may be the host's noise; then that for which there are too few samples.
nodes lines(const curve& which, const distribution& from, const axes& to) {
  const double end = from.quantiles().back().fraction;
  const double supported = std::min(from.supported(), end), trusted = std::min(which.trusted, supported);
  nodes found = {curve_line(which, part(from, to, 0, trusted))};
  if (trusted < supported) found.push_back(curve_line(which, part(from, to, trusted, supported), "noisy"));
  if (supported < end) found.push_back(curve_line(which, part(from, to, supported, end), "beyond"));
  return found;
}

// Where the host's noise is measured instead of the file: greyed, in words as well.
void add_untrusted(nodes& under, nodes& over, const panel& from, const axes& to) {
  const double trusted = to.x(from.trusted());
  if (trusted >= 0.995) return;
  under.push_back(element("rect", {{"class", "untrusted"},
                                   {"x", percent_of_width(trusted)},
                                   {"y", "0"},
                                   {"width", percent_of_width(1 - trusted)},
                                   {"height", "100%"}}));
  over.push_back(element(
      "text", {{"class", "remark"}, {"x", "100%"}, {"y", "-8"}},
      {fmt::format("beyond {}, the furthest of these series: may be the host’s noise", trusted_text(from.trusted()))}));
}

void add_floor(nodes& under, const panel& from, const axes& to) {
  const double y = to.y(from.floor_ns);
  if (y <= 0 || y >= 1) return;
  under.push_back(element(
      "line", {{"class", "floor"}, {"x1", "0"}, {"x2", "100%"}, {"y1", pixels_down(y)}, {"y2", pixels_down(y)}}));
  under.push_back(element("text",
                          {{"class", "remark"}, {"x", "100%"}, {"dx", "-6"}, {"y", pixels_down(y)}, {"dy", "-5"}},
                          {"cost of reading the clock, " + duration_text(from.floor_ns)}));
}

std::string curves_description(const panel& from) {
  std::string text = "Latency on a logarithmic axis over the percentile.";
  for (const curve& each : from.curves)
    if (each.measured()) {
      text += fmt::format(" {}:", each.name);
      for (const percentile& which : each.series->latency.percentiles)
        if (which.value)
          text += fmt::format(" {} {},", percentile_text(which.fraction), duration_text(which.value->value));
      text += fmt::format(" maximum {}.", duration_text(each.series->latency.max));
    }
  return text;
}

// "95 % interval within this run", if that is what all intervals are.
std::string shaded_intervals(const panel& from) {
  std::set<std::string> scopes;
  for (const curve& each : from.curves)
    if (each.drawable()) scopes.insert(interval_scope(*each.series));
  return scopes.size() == 1 ? "95 % interval " + *scopes.begin() : "95 % intervals";
}

}  // namespace

node percentile_chart(const panel& from) {
  const axes to = axes_of(from);
  nodes bands, curves;
  std::vector<start_label> starts;
  for (const curve& each : from.curves) {
    if (!each.drawable()) continue;
    const distribution seen(each.series->latency);
    bands.push_back(band(each, seen, to));
    for (node& line : lines(each, seen, to)) curves.push_back(std::move(line));
    starts.push_back({&each, to.y(seen.at(0.25))});
  }
  std::ranges::move(curves, std::back_inserter(bands));

  nodes under = {horizontal_grid(to.y.ticks(), side::right), vertical_grid(to.x.ticks())}, over;
  add_untrusted(under, over, from, to);
  add_floor(under, from, to);
  nodes layers = std::move(under);
  layers.push_back(stretched(std::move(bands)));
  layers.push_back(start_labels(std::move(starts)));
  std::ranges::move(over, std::back_inserter(layers));
  return figure_of({"Percentiles: how slow the slowest are",
                    curves_description(from),
                    "percentiles",
                    {{"data-decades", fmt::format("{:.6g}", to.x.decades())},
                     {"data-low", fmt::format("{:.6g}", to.y.low())},
                     {"data-high", fmt::format("{:.6g}", to.y.high())}},
                    std::move(layers),
                    fmt::format("The share of operations that took at most that long. Lower is better. {}; shaded {}; "
                                "pale: may be the host’s noise; dotted: too few samples to say.",
                                from.strokes, shaded_intervals(from))});
}

}  // namespace qd1::html
