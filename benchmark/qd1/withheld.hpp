// SPDX-License-Identifier: BSL-1.0
// Which intervals are missing, and why, in words.
#pragma once

#include "report.hpp"
#include "units.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace qd1 {

/// "no interval of p99.9, mean: a handful of samples …": a text for each reason. Where a round has too few samples
/// beyond a percentile, it has fewer beyond the rarer ones: "no interval of p99 and beyond: 4.6 samples …".
inline std::vector<std::string> missing_intervals(const latency& of) {
  struct missing {
    std::string reason;
    std::string names;
    std::size_t count = 0;
    bool is_upper = false;  // of percentiles above the median
    bool and_beyond = false;
  };
  const auto after_number = [](std::string_view reason) {
    return reason.substr(std::min(reason.find(' '), reason.size()));
  };
  std::vector<missing> found;
  std::size_t figures = 0;
  const auto add = [&](const std::string& name, const estimate& figure, bool is_upper) {
    ++figures;
    if (figure.withheld.empty()) return;
    auto same = std::ranges::find(found, figure.withheld, &missing::reason);
    const bool counts_tail = figure.withheld.find("expected beyond it") != std::string::npos;
    if (same == found.end() && is_upper && counts_tail)
      same = std::ranges::find_if(found, [&](const missing& each) {
        return each.is_upper && after_number(each.reason) == after_number(figure.withheld);
      });
    if (same != found.end() && same->reason != figure.withheld) {
      same->and_beyond = true;
      ++same->count;
      return;
    }
    if (same == found.end()) same = found.insert(found.end(), {figure.withheld, {}, 0, is_upper, false});
    same->names += (same->names.empty() ? "" : ", ") + name;
    ++same->count;
  };
  for (const percentile& each : of.percentiles)
    if (each.value) add(percentile_name(each.fraction), *each.value, each.fraction >= 0.5);
  add("mean", of.mean, false);
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const missing& each : found) {
    const std::string names = each.names + (each.and_beyond ? " and beyond" : "");
    texts.push_back((each.count == figures ? "no intervals" : "no interval of " + names) + ": " + each.reason);
  }
  return texts;
}

}  // namespace qd1
