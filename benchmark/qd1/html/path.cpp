// SPDX-License-Identifier: BSL-1.0
#include "path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <utility>

namespace qd1::html {
namespace {

constexpr double tolerance = 2.5;  // path units: a quarter of a pixel of the height

// The distance of a point from the segment `from`–`to`, in path units.
double distance(const point& of, const point& from, const point& to) {
  const double dx = (to.x - from.x) * path_width, dy = (to.y - from.y) * path_height;
  const double px = (of.x - from.x) * path_width, py = (of.y - from.y) * path_height;
  const double length = dx * dx + dy * dy;
  const double along = length > 0 ? std::clamp((px * dx + py * dy) / length, 0.0, 1.0) : 0;
  return std::hypot(px - along * dx, py - along * dy);
}

// A point far outside of the plot is drawn less far outside, so that differences of two fit into a long.
long coordinate(double part, int whole) {
  constexpr double furthest = 1000;
  return std::isnan(part) ? 0 : std::lround(std::clamp(part, -furthest, furthest) * whole);
}

void append(std::string& path, std::span<const point> line, bool moves) {
  long at_x = 0, at_y = 0;
  for (std::size_t each = 0; each < line.size(); ++each) {
    const long x = coordinate(line[each].x, path_width);
    const long y = coordinate(1 - line[each].y, path_height);
    auto to = std::back_inserter(path);
    if (each == 0)
      fmt::format_to(to, "{}{} {}", moves ? 'M' : 'L', x, y);
    else if (x != at_x || y != at_y)
      fmt::format_to(to, "l{} {}", x - at_x, y - at_y);
    at_x = x;
    at_y = y;
  }
}

}  // namespace

std::vector<point> simplified(std::span<const point> line) {
  if (line.size() < 3) return {line.begin(), line.end()};
  std::vector<bool> kept(line.size());
  kept.front() = kept.back() = true;
  std::vector<std::pair<std::size_t, std::size_t>> open = {{0, line.size() - 1}};
  // Lines are halved, more or less. One that is made so that each step takes off a single point keeps the others.
  std::size_t looks_left = line.size() * 64;
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    if (last - first > looks_left) {
      std::fill(kept.begin() + static_cast<std::ptrdiff_t>(first), kept.begin() + static_cast<std::ptrdiff_t>(last),
                true);
      continue;
    }
    looks_left -= last - first;
    double most = tolerance;
    std::size_t furthest = 0;
    for (std::size_t each = first + 1; each < last; ++each) {
      const double away = distance(line[each], line[first], line[last]);
      if (away <= most) continue;
      most = away;
      furthest = each;
    }
    if (furthest == 0) continue;
    kept[furthest] = true;
    open.emplace_back(first, furthest);
    open.emplace_back(furthest, last);
  }
  std::vector<point> found;
  for (std::size_t each = 0; each < line.size(); ++each)
    if (kept[each]) found.push_back(line[each]);
  return found;
}

std::string line_path(std::span<const point> line) {
  std::string path;
  append(path, line, true);
  return path;
}

std::string area_path(std::span<const point> low, std::span<const point> high) {
  std::string path;
  append(path, low, true);
  const std::vector<point> back(high.rbegin(), high.rend());
  append(path, back, false);
  return path + 'Z';
}

}  // namespace qd1::html
