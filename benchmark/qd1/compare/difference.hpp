// SPDX-License-Identifier: BSL-1.0
// Whether two runs of the same work differ, by how the rounds of each differ among themselves.
#pragma once

#include "report.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace qd1 {

/// Less than this is no difference: runs of the same thing differ by a few per cent, whatever their rounds say.
constexpr double negligible = 1.05;
/// A difference of this size has to be told apart: an interval that cannot do it is inconclusive.
constexpr double notable = 1.10;

enum class difference : std::uint8_t { none, faster, slower, inconclusive };

std::string_view name(difference found);

struct finding {
  difference verdict = difference::inconclusive;
  std::optional<estimate> ratio;  ///< new / base; none: too few rounds
  std::string remark;             ///< why it is inconclusive, and what helps; and of rounds that were left out
};

/// By a figure of which each round has its own: a percentile, "mean", or "iops", which counts the other way round.
///
/// The ratio is that of the midmeans of the rounds' logarithms, its interval by Welch's t (95 %). Where the runs took
/// turns it is the midmean of the logarithms of each round's ratio to its neighbour, with Student's t. Rounds in which
/// others had the processor are left out. Where too few others remain all are taken, and none are averaged: what kept
/// the host busy may have lasted as long as the run, so the runs may differ by as much as single rounds do.
///
/// faster, slower: the ratio is not negligible, and an interval of 99 % does not hold 1. none: the ratio is negligible,
/// and the whole interval is less than notable. Else it is inconclusive.
finding compare(const series& base, const series& now, std::string_view figure);

}  // namespace qd1
