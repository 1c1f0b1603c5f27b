// SPDX-License-Identifier: BSL-1.0
// Rounds of two runs that were measured one beside the other.
#pragma once

#include "report.hpp"

#include <cstddef>
#include <vector>

namespace qd1 {

/// A round of each of two series, by their indices.
struct round_pair {
  std::size_t base;
  std::size_t now;
};

/// The rounds of two series that took turns by the same file, each with the one that followed it. Empty if they did
/// not: by the times of their rounds, which have to alternate. A file of the same name proves nothing, because it may
/// be another one, or that of an earlier run.
std::vector<round_pair> pairs_in_turn(const series& base, const series& now);

}  // namespace qd1
