// SPDX-License-Identifier: BSL-1.0
// Independent runs of the same measurement, one after the other.
#pragma once

#include "report.hpp"

#include <cstdint>
#include <functional>
#include <vector>

namespace qd1 {

/// The seed of a run, counted from 0: the first run has the seed itself.
std::uint64_t run_seed(std::uint64_t seed, std::uint64_t run);

/// The reports of `count` runs. Each calls `measure` with its own seed. Ends early if the user interrupts it; a run
/// that was interrupted is left out, unless it is the only one. The settings of each report say how many were
/// requested.
std::vector<report> repeat_runs(std::uint64_t count, std::uint64_t seed,
                                const std::function<report(std::uint64_t seed)>& measure);

}  // namespace qd1
