// SPDX-License-Identifier: BSL-1.0
#include "statistics/block_means.hpp"

#include <boost/math/distributions/students_t.hpp>

#include <cmath>
#include <numeric>

namespace qd1 {

void block_means::close() noexcept {
  means_[blocks_++] = open_sum_ / static_cast<double>(block_size_);
  open_sum_ = 0;
  open_count_ = 0;
  if (blocks_ != most_blocks) return;
  for (std::size_t each = 0; each < most_blocks / 2; ++each)
    means_[each] = (means_[2 * each] + means_[2 * each + 1]) / 2;
  blocks_ = most_blocks / 2;
  block_size_ *= 2;
}

estimate block_means::around(double mean) const {
  constexpr std::size_t fewest_blocks = 8;
  if (blocks_ < fewest_blocks) return {mean, std::nullopt};
  const auto count = static_cast<double>(blocks_);
  const double centre = std::accumulate(means_.begin(), means_.begin() + blocks_, 0.) / count;
  double squares = 0;
  for (std::size_t each = 0; each < blocks_; ++each) squares += (means_[each] - centre) * (means_[each] - centre);
  const double deviation = std::sqrt(squares / (count - 1) / count);
  const double half = quantile(boost::math::students_t(count - 1), 0.975) * deviation;
  return {mean, interval{mean - half, mean + half}};
}

}  // namespace qd1
