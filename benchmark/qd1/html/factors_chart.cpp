// SPDX-License-Identifier: BSL-1.0
#include "factors_chart.hpp"

#include "chart.hpp"
#include "quantity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace qd1::html {
namespace {

constexpr int factor_row_height = 26;  // CSS pixels

// Logarithmic, with 1 in it: as far to the left of that is a factor's inverse.
class factor_scale {
 public:
  explicit factor_scale(const std::vector<const shape*>& shown) {
    for (const shape* each : shown)
      for (const double factor : {*each->published, *each->found}) {
        low_ = std::min(low_, std::log10(factor));
        high_ = std::max(high_, std::log10(factor));
      }
    constexpr double margin = 0.05;
    const double wider = (high_ - low_) * margin;
    low_ -= wider;
    high_ += wider;
  }
  double operator()(double factor) const { return (std::log10(factor) - low_) / (high_ - low_); }
  std::vector<tick> ticks() const {
    std::vector<tick> found;
    for (double power = std::ceil(low_); power <= high_; ++power)
      found.push_back({(power - low_) / (high_ - low_), fmt::format("{:g}×", std::pow(10, power))});
    return found;
  }

 private:
  double low_ = -0.1;
  double high_ = 0.1;
};

node mark(const char* hue, double at) {
  return element("circle", {{"class", hue}, {"cx", percent_of_width(at)}, {"cy", "13"}, {"r", "5.5"}});
}

node drawing(const shape& claim, const factor_scale& x) {
  nodes shapes = {element(
      "title", {}, {fmt::format("published {}, here {}", ratio_text(*claim.published), ratio_text(*claim.found))})};
  for (const tick& each : x.ticks()) {
    const std::string at = percent_of_width(each.at);
    shapes.push_back(
        element("line", {{"x1", at}, {"x2", at}, {"y1", "-2"}, {"y2", fmt::format("{}", factor_row_height + 4)}}));
  }
  const auto [left, right] = std::minmax({x(*claim.published), x(*claim.found)});
  shapes.push_back(element("rect", {{"class", "stem"},
                                    {"x", percent_of_width(left)},
                                    {"width", percent_of_width(std::max(right - left, 0.002))},
                                    {"y", "12"},
                                    {"height", "2"}}));
  shapes.push_back(mark("run1", x(*claim.published)));
  shapes.push_back(mark("run2", x(*claim.found)));
  return element("svg", {{"class", "rank run1"}, {"role", "img"}, {"height", fmt::format("{}", factor_row_height)}},
                 std::move(shapes));
}

node axis(const factor_scale& x) {
  node marks = element("svg", {{"class", "axis"}, {"height", "18"}, {"aria-hidden", "true"}});
  for (const tick& each : x.ticks())
    marks.add(element("text", {{"class", "x"}, {"x", percent_of_width(each.at)}, {"y", "14"}}, {each.label}));
  return marks;
}

}  // namespace

node factors_chart(const reproduction& of) {
  std::vector<const shape*> shown;
  for (const shape& each : of.shapes)
    if (each.published && each.found && *each.published > 0 && *each.found > 0) shown.push_back(&each);
  if (shown.empty()) return "";
  const factor_scale x(shown);
  node list = element("ol", {{"class", "ranks factors"}});
  for (const shape* each : shown)
    list.add(element("li", {},
                     {element("span", {}, {each->claim}), drawing(*each, x),
                      element("span", {{"class", "what"}},
                              {element("b", {{"class", "run1"}}, {ratio_text(*each->published)}),
                               element("b", {{"class", "run2"}}, {ratio_text(*each->found)})})}));
  list.add(element("li", {{"class", "scale"}}, {element("span"), axis(x), element("span")}));
  return element("section", {{"class", "details"}},
                 {element("h2", {}, {"Published and measured here"}), std::move(list),
                  element("p", {{"class", "how"}},
                          {"Each claim as a ratio of two figures, so that the speed of the machine does not "
                           "matter. ",
                           element("b", {{"class", "run1"}}, {"Published"}), " and ",
                           element("b", {{"class", "run2"}}, {"here"}), "; logarithmic."})});
}

}  // namespace qd1::html
