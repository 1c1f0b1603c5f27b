// SPDX-License-Identifier: BSL-1.0
#include "findings/detections.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

// "2.1 % (0.4 … 3.9)": by how much the second takes longer, or, if `is_faster`, less long.
std::string change_text(const estimate& ratio, bool is_faster = false) {
  const double sign = is_faster ? -1 : 1;
  const auto per_cent = [&](double of) {
    const double found = sign * (of - 1) * 100;
    return std::abs(found) < 0.05 ? 0 : found;  // not -0.0
  };
  std::string text = fmt::format("{:.1f} %", per_cent(ratio.value));
  if (!ratio.interval) return text;
  double low = per_cent(ratio.interval->low), high = per_cent(ratio.interval->high);
  if (is_faster) std::swap(low, high);
  return text + fmt::format(" ({:.1f} … {:.1f})", low, high);
}

}  // namespace

compared_medians medians_of(const detection& of) {
  if (of.pairs.empty()) return {};
  std::vector<double> levels;
  for (const run_pair& each : of.pairs) levels.push_back(std::sqrt(each.base * each.now));
  const auto middle = levels.begin() + static_cast<std::ptrdiff_t>(levels.size() / 2);
  std::nth_element(levels.begin(), middle, levels.end());
  const double apart = std::sqrt(of.ratio.value);
  return {*middle / apart, *middle * apart};
}

std::string detection_verdict(const detection& of) {
  if (!of.not_decidable.empty()) return "no verdict: " + of.not_decidable;
  const std::string effect = fmt::format("{:g} %", of.effect * 100);
  switch (of.verdict) {
    case detected::faster:
    case detected::slower:
      return fmt::format("{} by {}", name(of.verdict), change_text(of.ratio, of.verdict == detected::faster));
    case detected::none: {
      const bool differs = of.ratio.interval->low > 1 || of.ratio.interval->high < 1;
      return fmt::format("{} {}: {}", differs ? "differs, by less than" : "no difference of", effect,
                         change_text(of.ratio));
    }
    case detected::undecided: break;
  }
  if (of.pairs.empty()) return "undecided: no pair of runs is complete";
  return fmt::format("undecided after {} pairs: {}", of.pairs.size(),
                     of.ratio.interval ? change_text(of.ratio) : "too few for an interval");
}

}  // namespace qd1
