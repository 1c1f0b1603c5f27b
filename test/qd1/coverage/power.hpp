// SPDX-License-Identifier: BSL-1.0
// How often comparisons are right, by simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qd1_test {

/// How often a comparison of two runs came to each verdict.
struct verdicts {
  std::string host;   ///< what rounds and runs do
  double slower = 1;  ///< the second run, by this factor
  std::size_t rounds = 0;
  bool quiet = false;     ///< has to be decided
  bool repeated = false;  ///< five runs on either side, instead of one
  std::size_t pairs = 0;
  std::size_t different = 0;
  std::size_t none = 0;
  std::size_t inconclusive = 0;

  double part(std::size_t of) const { return static_cast<double>(of) / static_cast<double>(pairs); }
};

std::vector<verdicts> compare_simulated(std::size_t pairs, std::uint64_t seed = 3);

/// How often the interval between five runs of 20 rounds holds the mean of the medians of many runs, and how often it
/// overlaps the interval between five further runs.
struct repeat_cell {
  std::string host;
  bool rare = false;  ///< most runs look alike, and few differ by much: five runs cannot show that
  std::size_t repetitions = 0;
  std::size_t covered = 0;
  std::size_t overlapping = 0;

  double part(std::size_t of) const { return static_cast<double>(of) / static_cast<double>(repetitions); }
};

std::vector<repeat_cell> repeat_simulated(std::size_t repetitions, std::uint64_t seed = 5);

}  // namespace qd1_test
