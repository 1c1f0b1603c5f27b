// SPDX-License-Identifier: BSL-1.0
#include "catch.hpp"

#include <qd1/html/path.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

using namespace qd1::html;

namespace {

std::vector<point> rising(std::size_t count) {
  std::vector<point> line;
  for (std::size_t each = 0; each < count; ++each) {
    const double x = static_cast<double>(each) / static_cast<double>(count - 1);
    line.push_back({x, std::pow(x, 8)});
  }
  return line;
}

double height_at(const std::vector<point>& line, double x) {
  const auto next = std::ranges::lower_bound(line, x, {}, &point::x);
  if (next == line.begin()) return next->y;
  const auto before = next - 1;
  return before->y + (next->y - before->y) * (x - before->x) / (next->x - before->x);
}

}  // namespace

TEST_CASE("a line loses points, but nothing that can be seen") {
  const std::vector<point> line = rising(20'000);
  const std::vector<point> drawn = simplified(line);
  CHECK(drawn.size() < 100);
  CHECK(drawn.size() > 5);
  double worst = 0;
  for (const point& each : line) worst = std::max(worst, std::abs(height_at(drawn, each.x) - each.y));
  CHECK(worst * path_height < 20);  // two pixels where it is steep; less across the line
  CHECK(std::ranges::is_sorted(drawn, {}, &point::x));
  CHECK(std::ranges::is_sorted(drawn, {}, &point::y));
}

TEST_CASE("straight lines keep their ends only, short ones everything") {
  const std::vector<point> straight = {{0, 0}, {0.25, 0.25}, {0.5, 0.5}, {1, 1}};
  CHECK(simplified(straight).size() == 2);
  CHECK(simplified(std::vector<point>{}).empty());
  CHECK(simplified(std::vector<point>{{0, 0}, {1, 1}}).size() == 2);
}

TEST_CASE("points far outside of the plot, and none at all, are drawn somewhere") {
  const double nothing = std::numeric_limits<double>::quiet_NaN();
  CHECK(line_path(std::vector<point>{{1e300, -1e300}, {-1e300, nothing}}) == "M8000000 3200000l-16000000 -3200000");
}

TEST_CASE("a line that loses one point a step keeps its points") {
  std::vector<point> line;  // each point is furthest from the line of those after it
  for (int each = 0; each < 20'000; ++each) line.push_back({each / 20'000., each % 2 == 0 ? 0 : 1 - each / 20'000.});
  const auto drawn = simplified(line);
  CHECK(drawn.size() > 10'000);
  CHECK(drawn.size() <= line.size());
}

TEST_CASE("a path begins absolutely and goes on in steps, from the top down") {
  CHECK(line_path(std::vector<point>{{0, 0}, {0.5, 0.5}, {1, 1}}) == "M0 3200l4000 -1600l4000 -1600");
  CHECK(line_path(std::vector<point>{{0, 0}, {0, 0}}) == "M0 3200");
  CHECK(area_path(std::vector<point>{{0, 0}, {1, 0}}, std::vector<point>{{0, 1}, {1, 1}}) ==
        "M0 3200l8000 0L8000 0l-8000 0Z");
}
