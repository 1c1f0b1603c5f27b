// SPDX-License-Identifier: BSL-1.0
// What a sample shows about a percentile, whatever the distribution is.
#pragma once

#include <cstdint>
#include <optional>

namespace qd1 {

/// Ranks, counted from 1 in ascending order.
struct rank_interval {
  std::uint64_t low;
  std::uint64_t high;
};

/// The ranks between whose samples the percentile lies with a confidence of 95 %, with at most 2.5 % beyond either end.
/// The number of samples below a percentile is distributed binomially, so nothing is assumed about the distribution,
/// but that samples are independent. None if there are too few samples for both ends to exist.
std::optional<rank_interval> percentile_ranks(double fraction, std::uint64_t samples);

/// How many samples it takes for percentile_ranks() to exist.
std::uint64_t samples_needed(double fraction);

/// The rank of the sample that is the percentile.
std::uint64_t percentile_rank(double fraction, std::uint64_t samples);

}  // namespace qd1
