// SPDX-License-Identifier: BSL-1.0
// What follows for a series from all of its rounds, whether one transfer was in flight or many.
#pragma once

#include "measure/verification.hpp"
#include "report.hpp"
#include "statistics/pooled_rounds.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace qd1 {

struct totals {
  std::uint64_t counted = 0;            ///< transfers of this series
  std::uint64_t counted_beside = 0;     ///< … and of those that were in flight beside it, which share the CPU time
  double processor_seconds = 0;         ///< user and system, of all threads
  std::optional<std::uint64_t> cycles;  ///< none: not all rounds counted them
  qd1::evidence evidence;               ///< on which the verdict on direct is based
};

/// Fills in IOPS, bandwidth, CPU time and cycles of a closed loop, the verdict on direct, and whether it had settled.
/// The latencies, the seconds, the rounds and the slices must be there already. `sampled`: the rounds.
void complete(series& of, const totals& all, std::span<const sampled_round> sampled = {});

/// How percentiles of all samples differ from those of the rounds with the same weight, in words. They do where fast
/// rounds have most of the samples. Empty: by less than a tenth, or within the interval.
std::string why_weights_matter(const latency& of, std::span<const sampled_round> rounds);

}  // namespace qd1
