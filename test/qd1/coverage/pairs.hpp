// SPDX-License-Identifier: BSL-1.0
// How often qd1 run --detect is right, and after how many pairs, by simulation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace qd1_test {

/// What --detect 2% decided, many times.
struct detections {
  std::string host;   ///< how runs differ that are made one after the other
  double slower = 1;  ///< the second of the two, by this factor
  std::size_t tries = 0;
  std::size_t right = 0;  ///< different, in the right direction
  std::size_t wrong = 0;  ///< different, and it is not, or in the other direction
  std::size_t none = 0;   ///< no difference of 2 %
  std::size_t undecided = 0;
  std::size_t missed = 0;  ///< the interval did not contain the factor when it ended
  std::size_t pairs = 0;   ///< in all tries

  double part(std::size_t of) const { return static_cast<double>(of) / static_cast<double>(tries); }
};

/// For each host, the ratios 1, 1.01, 1.02, 1.04, 1.05 and 1.1.
std::vector<detections> detect_simulated(std::size_t tries, std::uint64_t seed = 7);

}  // namespace qd1_test
