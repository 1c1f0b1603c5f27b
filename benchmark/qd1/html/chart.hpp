// SPDX-License-Identifier: BSL-1.0
// The frame that charts have in common. A chart is as wide as there is room: what is drawn is in a nested SVG that
// stretches, texts and ticks lie over it at percentages and keep their size.
#pragma once

#include "markup.hpp"
#include "panel.hpp"
#include "path.hpp"
#include "scale.hpp"

#include <string>
#include <vector>

namespace qd1::html {

inline constexpr double chart_height = path_height / 10.0;  ///< CSS pixels

/// A name beside the beginning of a curve.
struct start_label {
  const curve* which;
  double y;
};

/// "37.5%": along the width.
std::string percent_of_width(double x);
/// In pixels from the top.
std::string pixels_down(double y);

enum class side { left, right };
node horizontal_grid(const std::vector<tick>& ticks, side labels = side::left);
node vertical_grid(const std::vector<tick>& ticks);

/// Names at the left edge, in the order of the curves, moved apart where these lie close to each other. At the left,
/// because the host's noise makes the tails of all modes meet.
node start_labels(std::vector<start_label> labels);

/// A line of the hue of `which`. `extra`: more classes. The read-out under the pointer goes by its name.
node curve_line(const curve& which, const std::vector<point>& line, std::string_view extra = "");

/// What stretches.
node stretched(nodes shapes);

/// The figure. `kind` and the ends of the axes are what the read-out under the pointer needs to know.
struct chart {
  std::string title;
  std::string description;  ///< for screen readers
  std::string kind;
  attribute_list axes;
  nodes layers;
  std::string caption;
};
node figure_of(chart from);

}  // namespace qd1::html
