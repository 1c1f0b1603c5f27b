// SPDX-License-Identifier: BSL-1.0
#include "chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace qd1::html {
namespace {

constexpr double line_height = 15;  // CSS pixels between two labels

// Moves labels, sorted by place, apart: each as near to its curve as the others let it.
std::vector<double> spread(std::vector<double> places) {
  for (std::size_t each = 1; each < places.size(); ++each)
    places[each] = std::max(places[each], places[each - 1] + line_height);
  double lowest = chart_height;
  for (std::size_t each = places.size(); each-- > 0; lowest = places[each] - line_height)
    places[each] = std::min(places[each], lowest);
  return places;
}

}  // namespace

std::string percent_of_width(double x) { return fmt::format("{:.4g}%", x * 100); }

std::string pixels_down(double y) { return fmt::format("{:.4g}", (1 - y) * chart_height); }

node horizontal_grid(const std::vector<tick>& ticks, side labels) {
  const bool left = labels == side::left;
  node grid = element("g", {{"class", "grid"}});
  for (const tick& each : ticks) {
    const std::string y = pixels_down(each.at);
    grid.add(element("line", {{"x1", "0"}, {"x2", "100%"}, {"y1", y}, {"y2", y}}));
    grid.add(element("text",
                     {{"class", left ? "y" : "y right"},
                      {"x", left ? "0" : "100%"},
                      {"dx", left ? "-8" : "8"},
                      {"y", y},
                      {"dy", "4"}},
                     {each.label}));
  }
  return grid;
}

node vertical_grid(const std::vector<tick>& ticks) {
  node grid = element("g", {{"class", "grid"}});
  for (const tick& each : ticks) {
    const std::string x = percent_of_width(each.at);
    const std::string rank = each.minor ? "x minor" : "x";
    grid.add(element("line", {{"x1", x}, {"x2", x}, {"y1", "0"}, {"y2", pixels_down(0)}}));
    grid.add(element("text", {{"class", rank}, {"x", x}, {"y", pixels_down(0)}, {"dy", "18"}}, {each.label}));
  }
  return grid;
}

node start_labels(std::vector<start_label> labels) {
  std::ranges::stable_sort(labels, {}, [](const start_label& each) { return -each.y; });
  std::vector<double> places;
  places.reserve(labels.size());
  for (const start_label& each : labels) places.push_back((1 - each.y) * chart_height);
  // As many are moved up as down.
  std::vector<double> moved = spread(places);
  double shift = 0;
  for (std::size_t each = 0; each < places.size(); ++each) shift = std::max(shift, moved[each] - places[each]);
  for (double& each : places) each = std::max(each - shift / 2, 0.0);
  moved = spread(std::move(places));

  node group = element("g", {{"class", "starts"}});
  for (std::size_t each = 0; each < labels.size(); ++each) {
    const curve& which = *labels[each].which;
    group.add(element("text",
                      {{"class", which.hue}, {"x", "-8"}, {"y", fmt::format("{:.4g}", moved[each])}, {"dy", "4"}},
                      {which.short_name}));
  }
  return group;
}

node curve_line(const curve& which, const std::vector<point>& line, std::string_view extra) {
  attribute_list about = {{"class", fmt::format("line {}{}{}", which.classes(), extra.empty() ? "" : " ", extra)},
                          {"data-name", which.short_name},
                          {"d", line_path(line)}};
  return element("path", std::move(about));
}

node stretched(nodes shapes) {
  return element("svg",
                 {{"class", "plot"},
                  {"width", "100%"},
                  {"height", fmt::format("{}", chart_height)},
                  {"viewBox", fmt::format("0 0 {} {}", path_width, path_height)},
                  {"preserveAspectRatio", "none"},
                  {"aria-hidden", "true"}},
                 std::move(shapes));
}

node figure_of(chart from) {
  attribute_list about = {{"class", "chart"},
                          {"role", "img"},
                          {"aria-label", from.title + ". " + from.description},
                          {"height", fmt::format("{}", chart_height)},
                          {"data-kind", from.kind}};
  about.insert(about.end(), from.axes.begin(), from.axes.end());
  nodes layers = {element("title", {}, {from.title}), element("desc", {}, {from.description})};
  std::ranges::move(from.layers, std::back_inserter(layers));
  layers.push_back(element("line", {{"class", "cross"}, {"y1", "0"}, {"y2", pixels_down(0)}}));
  return element("figure", {{"class", from.kind}},
                 {element("h3", {}, {from.title}),
                  element("div", {{"class", "frame"}}, {element("svg", std::move(about), std::move(layers))}),
                  element("figcaption", {}, {from.caption})});
}

}  // namespace qd1::html
