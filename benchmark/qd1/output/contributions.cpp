// SPDX-License-Identifier: BSL-1.0
#include "output/contributions.hpp"

#include "output/wording.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace qd1 {
namespace {

std::string figure_cell(const std::optional<double>& ns) { return ns ? microseconds(*ns) : "n/a"; }

std::string rows(const series& of) {
  std::size_t width = 3;
  for (const contribution& each : of.contributions) width = std::max(width, each.name.size());
  std::string text = fmt::format("{}, run by run [µs]\n{:<{}} {:>12} {:>10} {:>9} {:>9} {:>9}\n", title(of.work), "run",
                                 width, "samples", "IOPS", "p50", "p99", "max");
  for (const contribution& each : of.contributions)
    text += fmt::format("{:<{}} {:>12} {:>10.0f} {:>9} {:>9} {:>9}{}{}\n", each.name, width, each.samples, each.iops,
                        figure_cell(each.p50), figure_cell(each.p99), microseconds(each.max),
                        each.straggles.empty() ? "" : "  ", each.straggles);
  return text + '\n';
}

}  // namespace

std::string contributions(const report& report) {
  std::string text;
  for (const series& each : report.series)
    if (!each.contributions.empty()) text += rows(each);
  return text;
}

}  // namespace qd1
