// SPDX-License-Identifier: BSL-1.0
// How often intervals hold what they are to hold, by simulation.
#pragma once

#include "processes.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qd1_test {

/// One figure of one kind of process, measured in so many rounds.
struct cell {
  std::string figure;  ///< "p50", "mean"
  std::size_t rounds = 0;
  std::size_t repetitions = 0;
  std::size_t given = 0;  ///< of the repetitions: had an interval
  std::size_t low = 0;    ///< of those given: lies below the truth
  std::size_t high = 0;   ///< … above it
  double width = 0;       ///< mean of those given, as a multiple of the oracle's

  double coverage() const { return 1 - static_cast<double>(low + high) / static_cast<double>(given); }
  double share_given() const { return static_cast<double>(given) / static_cast<double>(repetitions); }
  /// Part of all repetitions in which an interval was given that does not hold the truth.
  double wrong() const { return static_cast<double>(low + high) / static_cast<double>(repetitions); }
};

/// The oracle knows how estimates are distributed: its interval is as wide as the middle 95 % of them.
std::vector<cell> cells_of(const process_kind& kind, std::size_t repetitions, std::uint64_t seed = 7);

}  // namespace qd1_test
