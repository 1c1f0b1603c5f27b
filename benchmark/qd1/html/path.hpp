// SPDX-License-Identifier: BSL-1.0
// Lines and areas as SVG paths, with no more points than can be seen.
#pragma once

#include <span>
#include <string>
#include <vector>

namespace qd1::html {

/// In a plot: x from left to right, y from the bottom up, both 0 to 1.
struct point {
  double x;
  double y;
};

/// The coordinates of paths: integers, an eighth of a pixel or finer. Charts stretch to the width there is.
inline constexpr int path_width = 8000;
inline constexpr int path_height = 3200;

/// A subset of `line`. No point of the line is visibly away from it (Ramer, Douglas, Peucker).
std::vector<point> simplified(std::span<const point> line);

/// The `d` attribute: an absolute beginning, then integer steps.
std::string line_path(std::span<const point> line);

/// Closed: along `low`, and back along `high`.
std::string area_path(std::span<const point> low, std::span<const point> high);

}  // namespace qd1::html
