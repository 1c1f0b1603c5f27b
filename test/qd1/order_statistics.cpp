// SPDX-License-Identifier: BSL-1.0
#include "statistics/order_statistics.hpp"

#include "catch.hpp"
#include "measure/conditions.hpp"
#include "measure/tally.hpp"
#include "measure/totals.hpp"

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

// Rounds of that many samples each, of the same latency.
struct rounds_of {
  std::vector<qd1::sampled_round> rounds;
  qd1::histogram all;

  void add(double us, std::uint64_t samples) {
    qd1::histogram round;
    for (std::uint64_t each = 0; each < samples; ++each)
      round.record(static_cast<std::uint64_t>(us * 1e6) + each % 999);
    all.merge(round);
    rounds.push_back(qd1::sampled(round));
  }
};

TEST_CASE("fast rounds that have most of the samples make a series unsteady, with both figures") {
  rounds_of uneven, even, stalled;
  for (int round = 0; round < 20; ++round) {
    uneven.add(round % 5 < 2 ? 10 : 90, round % 5 < 2 ? 9'000 : 1'000);
    even.add(round % 2 == 0 ? 10 : 90, 1'000);
    stalled.add(round % 4 == 0 ? 300'000 : 80, round % 4 == 0 ? 1 : 1'000);
  }
  const auto text = [](const rounds_of& of) {
    return qd1::why_weights_matter(qd1::summary(of.all, of.rounds), of.rounds);
  };
  CHECK_THAT(text(uneven), qio_test::Contains("p50 is 10.0 µs of all operations and 90.0 µs with each round"));
  CHECK(text(even).empty());
  CHECK(text(stalled).empty());
  qd1::series found;
  found.latency = qd1::summary(uneven.all, uneven.rounds);
  found.seconds = 1;
  qd1::totals all;
  all.counted = 1;
  qd1::complete(found, all, uneven.rounds);
  CHECK(found.steady == false);
}

TEST_CASE("time that no latency includes is noted, and latencies that exceed the time are invalid") {
  const auto judged = [](double iops) {
    rounds_of made;
    for (int round = 0; round < 20; ++round) made.add(80, 1'000);
    qd1::report run;
    run.series.resize(1);
    qd1::series& of = run.series.front();
    of.latency = qd1::summary(made.all, made.rounds);
    of.iops = iops;
    of.seconds = 20'000 / iops;
    of.work.working_set = 1 << 20;
    qd1::judge_conditions(run);
    return run.series.front();
  };
  CHECK(judged(12'400).notes.empty());
  CHECK(judged(12'400).invalid.empty());
  REQUIRE(judged(6'250).notes.size() == 1);
  CHECK_THAT(judged(6'250).notes.front(),
             qio_test::Contains("mean × IOPS is 0.50") && qio_test::Contains("80.0 µs each"));
  REQUIRE(judged(15'000).invalid.size() == 1);
  CHECK_THAT(judged(15'000).invalid.front(), qio_test::Contains("longer than the time that passed"));
}

TEST_CASE("the steps of a clock widen intervals on both sides, and make a median of less than two steps invalid") {
  rounds_of made;
  for (int round = 0; round < 20; ++round) made.add(80, 1'000);
  const auto judged = [&](double step_ns) {
    qd1::report run;
    run.clock.step_ns = step_ns;
    qd1::series& of = run.series.emplace_back();
    of.latency = qd1::summary(made.all, made.rounds);
    of.work.working_set = 1 << 20;
    qd1::judge_conditions(run);
    return run.series.front();
  };
  const auto interval_of_median = [](const qd1::series& of) {
    const auto median = qd1::median_of(of);
    REQUIRE(median);
    REQUIRE(median->interval);
    return *median->interval;
  };
  const qd1::interval fine = interval_of_median(judged(0)), coarse = interval_of_median(judged(10'000));
  CHECK(coarse.low == Approx(fine.low - 10'000));
  CHECK(coarse.high == Approx(fine.high + 10'000));
  CHECK(judged(7'000).notes.empty());
  REQUIRE(judged(10'000).notes.size() == 1);
  CHECK_THAT(judged(10'000).notes.front(), qio_test::Contains("in steps of 10 µs, 12 % of the median"));
  CHECK(judged(39'000).invalid.empty());
  REQUIRE(judged(41'000).invalid.size() == 1);
}

}  // namespace
