// SPDX-License-Identifier: BSL-1.0
#include "strip.hpp"

#include "path.hpp"
#include "quantity.hpp"
#include "scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace qd1::html {
namespace {

constexpr std::size_t most_points = 240;  // one each three pixels
constexpr int strip_height = 40;          // CSS pixels

// Neighbors are merged until there are no more than can be seen; the worst ones all remain.
std::vector<slice> thinned(std::vector<slice> from) {
  // The last one ends with the series: of the little that is in it, one pause is the mean.
  if (from.size() > 1 && from.back().seconds < from.front().seconds / 2) from.pop_back();
  const std::size_t together = (from.size() + most_points - 1) / most_points;
  std::vector<slice> found;
  for (std::size_t each = 0; each < from.size(); ++each) {
    if (each % together == 0) {
      found.push_back(from[each]);
      continue;
    }
    slice& into = found.back();
    const slice& next = from[each];
    const auto before = static_cast<double>(into.operations), added = static_cast<double>(next.operations);
    if (added > 0) into.mean = (into.mean * before + next.mean * added) / (before + added);
    into.operations += next.operations;
    into.max = std::max(into.max, next.max);
    into.seconds = next.start + next.seconds - into.start;
  }
  return found;
}

struct range {
  double low = std::numeric_limits<double>::max();
  double high = 0;
};

range means_of(const std::vector<slice>& slices) {
  range found;
  for (const slice& each : slices) {
    if (each.operations == 0) continue;
    found.low = std::min(found.low, each.mean);
    found.high = std::max(found.high, each.mean);
  }
  return found;
}

// Means as a line between the least and the most, from half to twice the middle at least: what is steady has to look
// steady.
node drawing(const curve& which, const std::vector<slice>& slices, const range& means) {
  const double middle = std::sqrt(means.low * means.high);
  const double low = std::log(std::min(means.low, middle / 2)), high = std::log(std::max(means.high, middle * 2));
  const double end = slices.back().start + slices.back().seconds;
  std::vector<point> line;
  for (const slice& each : slices)
    if (each.operations != 0)
      line.push_back({(each.start + each.seconds / 2) / end, (std::log(each.mean) - low) / (high - low)});
  return element("svg",
                 {{"class", "strip"},
                  {"height", fmt::format("{}", strip_height)},
                  {"viewBox", fmt::format("0 0 {} {}", path_width, path_height)},
                  {"preserveAspectRatio", "none"},
                  {"role", "img"},
                  {"aria-label", "mean latency over time"}},
                 {element("path", {{"class", "line " + which.classes()}, {"d", line_path(simplified(line))}})});
}

node strip_row(const curve& which) {
  const std::vector<slice> slices = thinned(which.series->slices);
  const range means = means_of(slices);
  double worst = 0;
  for (const slice& each : which.series->slices) worst = std::max(worst, each.max);
  const double seconds = slices.back().start + slices.back().seconds;
  return element(
      "li", {},
      {element("span", {{"class", "name " + which.hue}}, {which.short_name}), drawing(which, slices, means),
       element(
           "span", {{"class", "what"}},
           {fmt::format("mean {} {}", interval_text({means.low, means.high}, means.high), duration(means.high).unit),
            element("small", {}, {fmt::format("worst {}, over {:.3g} s", duration_text(worst), seconds)})})});
}

bool has_timeline(const curve& which) {
  return which.measured() && which.series->slices.size() >= 3 && means_of(which.series->slices).high > 0;
}

}  // namespace

node strips(const panel& from) {
  node list = element("ul", {{"class", "strips"}});
  bool any = false;
  for (const curve& each : from.curves)
    if (has_timeline(each)) {
      list.add(strip_row(each));
      any = true;
    }
  if (!any) return "";
  return element("figure", {{"class", "timeline"}},
                 {element("h3", {}, {"Over time: was it steady while it ran?"}), std::move(list),
                  element("figcaption", {},
                          {"Mean latency of each slice of time, logarithmic, each series on a scale of its own."})});
}

}  // namespace qd1::html
