// SPDX-License-Identifier: BSL-1.0
// What follows for a series from all of its rounds, whether one transfer was in flight or many.
#pragma once

#include "measure/verification.hpp"
#include "report.hpp"

#include <cstdint>
#include <optional>

namespace qd1 {

struct totals {
  std::uint64_t counted = 0;            ///< transfers of this series
  std::uint64_t counted_beside = 0;     ///< … and of those that were in flight beside it, which share the CPU time
  double processor_seconds = 0;         ///< user and system, of all threads
  std::optional<std::uint64_t> cycles;  ///< none: not all rounds counted them
  qd1::evidence evidence;               ///< on which the verdict on direct is based
};

/// Fills in IOPS, bandwidth, CPU time and cycles of a closed loop, the verdict on direct, and whether it had settled.
/// The latencies, the seconds, the rounds and the slices must be there already.
void complete(series& of, const totals& all);

}  // namespace qd1
