// SPDX-License-Identifier: BSL-1.0
// Which intervals are missing, and why, in words.
#pragma once

#include "report.hpp"
#include "units.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace qd1 {

/// "no interval of p99.9, mean: a handful of samples …": a text for each reason.
inline std::vector<std::string> missing_intervals(const latency& of) {
  struct missing {
    std::string reason;
    std::string names;
    std::size_t count = 0;
  };
  std::vector<missing> found;
  std::size_t figures = 0;
  const auto add = [&](const std::string& name, const estimate& figure) {
    ++figures;
    if (figure.withheld.empty()) return;
    auto same = std::ranges::find(found, figure.withheld, &missing::reason);
    if (same == found.end()) same = found.insert(found.end(), {figure.withheld, {}, 0});
    same->names += (same->names.empty() ? "" : ", ") + name;
    ++same->count;
  };
  for (const percentile& each : of.percentiles)
    if (each.value) add(percentile_name(each.fraction), *each.value);
  add("mean", of.mean);
  std::vector<std::string> texts;
  texts.reserve(found.size());
  for (const missing& each : found)
    texts.push_back((each.count == figures ? "no intervals" : "no interval of " + each.names) + ": " + each.reason);
  return texts;
}

}  // namespace qd1
