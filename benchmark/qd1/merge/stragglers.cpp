// SPDX-License-Identifier: BSL-1.0
#include "merge/stragglers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

namespace qd1 {
namespace {

using figure_of = std::function<std::optional<double>(const contribution&)>;

// None unless all of them have it.
std::optional<double> usual_value(const std::vector<contribution>& all, const figure_of& figure) {
  std::vector<double> values;
  for (const contribution& each : all)
    if (const auto value = figure(each)) values.push_back(*value);
  if (values.size() != all.size()) return std::nullopt;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// `ratio` to the median that makes a straggler, above 1 or below.
void look_at(std::vector<contribution>& all, std::string_view name, double ratio, const figure_of& figure) {
  const auto usual = usual_value(all, figure);
  if (!usual || *usual <= 0) return;
  for (contribution& each : all) {
    const double own = *figure(each) / *usual;
    if (ratio > 1 ? own < ratio : own > ratio) continue;
    each.straggles +=
        fmt::format("{}{} {:.2g} times the median", each.straggles.empty() ? "STRAGGLES: " : ", ", name, own);
  }
}

}  // namespace

void name_stragglers(std::vector<contribution>& all) {
  if (all.size() < 3) return;
  look_at(all, "p50", 1.5, [](const contribution& each) { return each.p50; });
  look_at(all, "p99", 1.5, [](const contribution& each) { return each.p99; });
  look_at(all, "IOPS", 2. / 3, [](const contribution& each) { return std::optional(each.iops); });
}

}  // namespace qd1
