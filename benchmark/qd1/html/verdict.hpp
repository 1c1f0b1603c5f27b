// SPDX-License-Identifier: BSL-1.0
// Which is fastest, by how much, and how certain that is: in a sentence.
#pragma once

#include "markup.hpp"
#include "panel.hpp"

#include <qd1/compare/decision.hpp>

#include <optional>
#include <span>
#include <vector>

namespace qd1::html {

/// By how much `slower` is slower than `faster`. The interval has at least the confidence of those it comes from.
estimate ratio(const estimate& slower, const estimate& faster);

/// It has an interval, which does not contain 1. Else there is no factor to print.
bool is_known_to_differ(const estimate& ratio);

/// "mapped is 2.1× faster than cached at the median (0.38 vs 0.81 µs; …)". The modes of one run, the best form of each.
nodes verdict_of_modes(const panel& modes);

/// Whether the medians of two series of the same work differ.
struct series_decision {
  const series* base;
  const series* now;
  decision found;
};

/// Covers all series that the other runs have in common with the first, and allows for their number.
std::vector<series_decision> decisions_of(std::span<const named_report> runs);

/// "fast is 9.8 % faster than base at the median", for each form: how the other run compares with the first.
nodes verdict_of_runs(const panel& runs, const std::vector<series_decision>& decisions);

/// A table of the verdicts on all series of several runs, compared with the first.
node verdict_matrix(std::span<const named_report> runs, const std::vector<series_decision>& decisions);

}  // namespace qd1::html
