// SPDX-License-Identifier: BSL-1.0
#include "detections.hpp"

#include "cells.hpp"
#include "quantity.hpp"

#include <fmt/format.h>
#include <qd1/findings/detections.hpp>

#include <string>
#include <utility>
#include <vector>

namespace qd1::html {
namespace {

struct headings {
  std::string base, now;
};

node row_of(const detection& of, const headings& names) {
  const bool has_medians = !of.pairs.empty() && of.not_decidable.empty();
  const auto [base, now] = medians_of(of);
  const auto median = [&](double ns) { return nodes{has_medians ? duration_text(ns) : std::string("–")}; };
  return element("tr", {{"role", "row"}},
                 {element("th", {{"scope", "row"}, {"role", "rowheader"}}, {title(of.work)}),
                  element("td", {{"role", "cell"}, {"class", "why"}}, {element("b", {}, {detection_verdict(of)})}),
                  cell(names.base, median(base)), cell(names.now, median(now)),
                  cell("pairs", {count_text(of.pairs.size())}), cell("time", {fmt::format("{:.1f} s", of.seconds)})});
}

}  // namespace

// All detections of a report have the same two sides.
node detections(const report& run) {
  if (run.detections.empty()) return "";
  const detection& first = run.detections.front();
  const headings names{"p50 of " + first.base, "p50 of " + first.now};
  const bool are_modes = first.base == name(first.work.mode);
  nodes rows;
  node list = element("ul");
  for (const detection& each : run.detections) {
    rows.push_back(row_of(each, names));
    for (const std::string& note : each.notes)
      list.add(element("li", {}, {fmt::format("{}, {}: {}", each.now, title(each.work), note)}));
  }
  return element(
      "section", {{"class", "details"}},
      {element("h2", {}, {fmt::format("{} and {} compared", first.base, first.now)}),
       element("p", {{"class", "detail"}},
               {fmt::format("By how much {} is slower or faster than {}.", first.now, first.base),
                are_modes ? "" : fmt::format(" The other figures of this page are those of {}.", first.base)}),
       table("figures detections", trust_in_detections, {"", "Verdict", names.base, names.now, "pairs", "time"},
             std::move(rows)),
       std::move(list)});
}

}  // namespace qd1::html
