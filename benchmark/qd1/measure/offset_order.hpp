// SPDX-License-Identifier: BSL-1.0
// The offsets of a series in the order that its work asks for.
#pragma once

#include "measure/offsets.hpp"
#include "report.hpp"

#include <cstdint>

namespace qd1 {

/// What one thread gets of the offsets of a series in one round.
struct offset_share {
  std::uint64_t series = 1;  ///< a seed that is the same for all threads and rounds: where it begins, what is popular
  std::uint64_t draws = 1;   ///< the seed of what this thread draws
  std::uint64_t thread = 0;  ///< from 0 to threads - 1
  std::uint64_t threads = 1;
  std::uint64_t taken = 0;  ///< offsets that it got in earlier rounds
};

/// Random: each transfer takes any block, all equally likely. Sequential: from a block that depends on the seed, and
/// from block 0 again after the last; threads begin at equal distances, and each round continues where the previous one
/// ended. Zipf: see zipf_offsets().
offset_source offsets_of(const work& work, const offset_share& share);

/// Throws usage_error for cold reads in an order that reads popular blocks again and again.
void require_cold_once(order order, temperature temperature);

}  // namespace qd1
