// SPDX-License-Identifier: BSL-1.0
// The mean of samples that depend on one another, and how far it can be trusted.
#pragma once

#include "report.hpp"

#include <array>
#include <cstddef>
#include <cstdint>

namespace qd1 {

/// Successive samples are alike (the same queue, the same frequency, the same neighbour), so their own variance says
/// too little. Means of long blocks hardly depend on one another. Blocks become longer as samples come: there are
/// always 32 to 64 of them.
class block_means {
 public:
  void add(double value) noexcept {
    open_sum_ += value;
    if (++open_count_ == block_size_) close();
  }

  /// The interval around `mean`, by Student's t over the blocks; none with fewer than 8 of them.
  estimate around(double mean) const;

 private:
  static constexpr std::size_t most_blocks = 64;

  void close() noexcept;

  std::array<double, most_blocks> means_{};
  std::size_t blocks_ = 0;
  std::uint64_t block_size_ = 1;
  double open_sum_ = 0;
  std::uint64_t open_count_ = 0;
};

}  // namespace qd1
