// SPDX-License-Identifier: BSL-1.0
#include "statistics/block_means.hpp"

#include "catch.hpp"

#include <random>

namespace {

// A walk that forgets by 1 % a step: neighbours are much alike. Its mean is 100.
double coverage_of_correlated_samples(int trials) {
  std::mt19937_64 random(7);
  std::normal_distribution<> step;
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    qd1::block_means blocks;
    double sum = 0;
    double deviation = 0;
    constexpr int samples = 30'000;
    for (int each = 0; each < samples; ++each) {
      deviation = 0.99 * deviation + step(random);
      blocks.add(100 + deviation);
      sum += 100 + deviation;
    }
    const auto interval = blocks.around(sum / samples).interval.value();
    if (interval.low <= 100 && 100 <= interval.high) ++covered;
  }
  return static_cast<double>(covered) / trials;
}

TEST_CASE("the mean of samples that depend on one another has an honest interval") {
  CHECK(coverage_of_correlated_samples(300) > 0.91);
}

TEST_CASE("a mean of few samples has no interval") {
  qd1::block_means blocks;
  for (int each = 0; each < 7; ++each) blocks.add(1);
  CHECK_FALSE(blocks.around(1).interval);
  blocks.add(1);
  CHECK(blocks.around(1).interval);
}

}  // namespace
