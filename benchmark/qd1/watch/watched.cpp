// SPDX-License-Identifier: BSL-1.0
#include "watch/watched.hpp"

#include "statistics/order_statistics.hpp"

namespace qd1 {

watched_transfer record(watched& to, std::uint64_t picoseconds) {
  histogram& all = to.latencies;
  watched_transfer seen{all.samples() + 1, static_cast<double>(picoseconds) / 1000, std::nullopt};
  if (all.samples() >= enough_for_outliers) {
    const double usual = all.ranked_ns(percentile_rank(0.5, all.samples()));
    if (usual > 0 && seen.ns > outlier_factor * usual) seen.times_usual = seen.ns / usual;
  }
  if (seen.times_usual) ++to.outliers;
  all.record(picoseconds);
  return seen;
}

}  // namespace qd1
