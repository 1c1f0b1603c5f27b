// SPDX-License-Identifier: BSL-1.0
#include "measure/offset_order.hpp"

#include "failure.hpp"
#include "units.hpp"

namespace qd1 {

offset_source offsets_of(const work& work, const offset_share& share) {
  const std::uint64_t blocks = work.working_set / work.block;
  switch (work.load.order) {
    case order::sequential: {
      const std::uint64_t distance = blocks / share.threads * share.thread;
      const std::uint64_t first = splitmix64(share.series)() % blocks;
      return sequential_offsets((first + distance + share.taken) % blocks, work.working_set, work.block);
    }
    case order::zipf:
      return zipf_offsets(share.series, share.draws, work.load.theta.value_or(usual_theta), work.working_set,
                          work.block);
    case order::random: break;
  }
  return random_offsets(share.draws, work.working_set, work.block);
}

void require_cold_once(order order, temperature temperature) {
  if (order != order::zipf || temperature != temperature::cold) return;
  throw usage_error(
      "--order: zipf reads popular blocks again and again, which are in memory then; use --reads warm, or another "
      "order");
}

}  // namespace qd1
