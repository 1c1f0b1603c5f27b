// SPDX-License-Identifier: BSL-1.0
#include "statistics/order_statistics.hpp"

#include "catch.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace {

// Trap 8. Known from tables: 0.975 = 1 - p^n.
TEST_CASE("how many samples a percentile needs") {
  CHECK(qd1::samples_needed(0.5) == 6);
  CHECK(qd1::samples_needed(0.95) == 72);
  CHECK(qd1::samples_needed(0.99) == 368);
  CHECK(qd1::samples_needed(0.999) == 3'688);
  CHECK(qd1::samples_needed(0.99999) == 368'887);
  CHECK(qd1::samples_needed(0.05) == qd1::samples_needed(0.95));
}

TEST_CASE("an interval exists exactly from the needed number on") {
  for (const double fraction : {0.5, 0.95, 0.99, 0.999, 0.99999}) {
    const std::uint64_t needed = qd1::samples_needed(fraction);
    CHECK_FALSE(qd1::percentile_ranks(fraction, needed - 1));
    const auto ranks = qd1::percentile_ranks(fraction, needed);
    REQUIRE(ranks);
    CHECK(ranks->low >= 1);
    CHECK(ranks->low < ranks->high);
    CHECK(ranks->high <= needed);
  }
}

// Conover, Practical Nonparametric Statistics, and every table of the sign test: n = 20, the median.
TEST_CASE("the ranks of a median of twenty") {
  const auto ranks = qd1::percentile_ranks(0.5, 20);
  REQUIRE(ranks);
  CHECK(ranks->low == 6);
  CHECK(ranks->high == 15);
}

TEST_CASE("the rank of a percentile") {
  CHECK(qd1::percentile_rank(0.99, 100) == 99);
  CHECK(qd1::percentile_rank(0.5, 5) == 3);
  CHECK(qd1::percentile_rank(0.99999, 10) == 10);
  CHECK(qd1::percentile_rank(0.999, 1'000'000) == 999'000);
}

double coverage(double fraction, std::size_t samples, int trials) {
  std::mt19937_64 random(20170805);
  std::exponential_distribution<> latency(1);
  const double truth = -std::log(1 - fraction);
  const auto ranks = qd1::percentile_ranks(fraction, samples).value();
  std::vector<double> drawn(samples);
  int covered = 0;
  for (int trial = 0; trial < trials; ++trial) {
    for (double& each : drawn) each = latency(random);
    std::sort(drawn.begin(), drawn.end());
    if (drawn[ranks.low - 1] <= truth && truth <= drawn[ranks.high - 1]) ++covered;
  }
  return static_cast<double>(covered) / trials;
}

TEST_CASE("intervals hold the true percentile 95 times in 100") {
  // Never less, but for the chance of 2 000 trials (a standard deviation of half a percent); hardly more, except where
  // the ends can only be first and last.
  CHECK(coverage(0.5, 500, 2'000) > 0.94);
  CHECK(coverage(0.5, 500, 2'000) < 0.98);
  CHECK(coverage(0.95, 500, 2'000) > 0.94);
  CHECK(coverage(0.99, 1'000, 2'000) > 0.94);
  CHECK(coverage(0.99, 368, 2'000) > 0.94);
}

}  // namespace
