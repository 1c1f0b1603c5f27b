// SPDX-License-Identifier: BSL-1.0
#include "statistics/order_statistics.hpp"

#include "statistics/distributions.hpp"

#include <algorithm>
#include <cmath>

namespace qd1 {
namespace {

constexpr double missed_on_one_side = 0.025;

}  // namespace

std::uint64_t samples_needed(double fraction) {
  // The rarer side decides: all samples lie on the other one with a probability of rarer^samples.
  const double other = std::max(fraction, 1 - fraction);
  return static_cast<std::uint64_t>(std::ceil(std::log(missed_on_one_side) / std::log(other)));
}

std::uint64_t percentile_rank(double fraction, std::uint64_t samples) {
  // 0.99 * 100 is a little more than 99 in binary.
  const double exact = fraction * static_cast<double>(samples) * (1 - 1e-12);
  return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(std::ceil(exact)), 1, samples);
}

std::optional<rank_interval> percentile_ranks(double fraction, std::uint64_t samples) {
  if (samples < samples_needed(fraction)) return std::nullopt;
  const auto trials = static_cast<double>(samples);
  const auto at_most = [&](std::uint64_t count) {
    return binomial_at_most(trials, fraction, static_cast<double>(count));
  };

  // The distribution's own quantile is a guess that may be off by one.
  const auto guess = [&](double probability) {
    return static_cast<std::uint64_t>(binomial_quantile(trials, fraction, probability));
  };
  std::uint64_t low = std::max<std::uint64_t>(guess(missed_on_one_side), 1);
  while (low > 1 && at_most(low - 1) > missed_on_one_side) --low;
  while (low < samples && at_most(low) <= missed_on_one_side) ++low;

  std::uint64_t high = std::clamp<std::uint64_t>(guess(1 - missed_on_one_side), 1, samples);
  while (high < samples && at_most(high - 1) < 1 - missed_on_one_side) ++high;
  while (high > 1 && at_most(high - 2) >= 1 - missed_on_one_side) --high;
  return rank_interval{low, high};
}

}  // namespace qd1
