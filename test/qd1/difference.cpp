// SPDX-License-Identifier: BSL-1.0
// Two runs of the same thing do not differ, and ten per cent are detected: on rounds that drift, depend on one another
// and have outliers, as those of real machines do.
#include "compare/difference.hpp"

#include "catch.hpp"
#include "compare/in_turn.hpp"
#include "normal_source.hpp"
#include "statistics/midmean.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace {

using qd1::difference;
using qd1_test::normal_source;
using qio_test::Contains;

// How the median of a round differs from that of the next, as parts of it.
struct host {
  double spread;       // of rounds
  double correlation;  // of a round and the next
  double drift;        // of the machine, from one run to the next
  double disturbed;    // part of the rounds that something disturbs, by a third of the value and more
};

qd1::series run_on(const host& host, normal_source& chance, double median = 50'000, int rounds = 20) {
  qd1::series made;
  const double level = std::log(median) + host.drift * chance.normal();
  double state = chance.normal();
  for (int round = 0; round < rounds; ++round) {
    const double innovation = std::sqrt(1 - host.correlation * host.correlation);
    state = host.correlation * state + innovation * chance.normal();
    double value = level + host.spread * state;
    if (chance.uniform() < host.disturbed) value += -0.3 * std::log(chance.uniform());
    const double ns = std::exp(value);
    made.rounds.push_back({1. * round, {}, 0.25, 5'000, ns, {{0.5, ns}, {0.99, 2 * ns}}, {}});
  }
  return made;
}

// How often a verdict comes about, of so many pairs of runs, the second of which is slower by this factor.
double part(difference wanted, const host& host, double slower, int pairs = 400) {
  normal_source chance(20);
  int found = 0;
  for (int pair = 0; pair < pairs; ++pair) {
    const qd1::series base = run_on(host, chance);
    const qd1::series now = run_on(host, chance, 50'000 * slower);
    if (qd1::compare(base, now, "p50").verdict == wanted) ++found;
  }
  return static_cast<double>(found) / pairs;
}

double part_that_differs(const host& host) {
  return part(difference::slower, host, 1) + part(difference::faster, host, 1);
}

TEST_CASE("20 quiet rounds detect ten per cent 9 times in 10") {
  for (const host& each : {host{0.01, 0, 0, 0}, host{0.02, 0, 0, 0}}) {
    INFO("spread " << each.spread);
    CHECK(part_that_differs(each) <= 0.05);
    CHECK(part(difference::none, each, 1) >= 0.8);
    CHECK(part(difference::slower, each, 1.1) >= 0.9);
    CHECK(part(difference::faster, each, 1 / 1.1) >= 0.9);
  }
}

TEST_CASE("runs of the same thing differ once in 20 times at most, though runs and rounds do, and ten per cent show") {
  for (const host& each :
       {host{0.01, 0, 0.01, 0}, host{0.02, 0, 0.01, 0.1}, host{0.02, 0.5, 0.01, 0.1}, host{0.025, 0.3, 0.01, 0.1},
        host{0.01, 0.8, 0.015, 0.05}, host{0.02, 0, 0.03, 0}, host{0.03, 0.95, 0, 0}}) {
    INFO("spread " << each.spread << ", correlation " << each.correlation << ", drift " << each.drift);
    CHECK(part_that_differs(each) <= 0.05);
    CHECK(part(difference::none, each, 1.1) <= 0.05);
    CHECK(part(difference::none, each, 1 / 1.1) <= 0.05);
  }
}

TEST_CASE("on a host that is too restless for a verdict there is none, rather than a wrong one") {
  for (const host& each : {host{0.06, 0.5, 0.01, 0.1}, host{0.1, 0.3, 0.02, 0.2}, host{0.4, 0.5, 0.02, 0}}) {
    INFO("spread " << each.spread << ", correlation " << each.correlation << ", drift " << each.drift);
    CHECK(part(difference::slower, each, 1) + part(difference::faster, each, 1) <= 0.05);
    CHECK(part(difference::none, each, 1.1) <= 0.05);
    CHECK(part(difference::inconclusive, each, 1) > 0.1);
  }
}

// Rounds that begin every second and take less than half of one.
void take_turns(qd1::series& base, qd1::series& now) {
  base.turns = now.turns = "file";
  base.began = 1e9;
  now.began = 1e9 + 0.5;
}

TEST_CASE("rounds are paired only if the runs took turns with each other, by the times of their rounds") {
  normal_source chance(9);
  const host quiet{0.01, 0, 0, 0};
  qd1::series base = run_on(quiet, chance);
  qd1::series now = run_on(quiet, chance);
  take_turns(base, now);
  const auto pairs = [&] { return qd1::pairs_in_turn(base, now); };
  REQUIRE(pairs().size() == 20);
  CHECK(pairs().back().base == 19);
  CHECK(pairs().back().now == 19);

  now.began = *base.began + 2.5;  // it began two rounds later
  REQUIRE(pairs().size() == 18);
  CHECK(pairs().front().base == 2);
  CHECK(pairs().front().now == 0);
  std::swap(base, now);
  REQUIRE(pairs().size() == 18);
  CHECK(pairs().front().base == 0);
  CHECK(pairs().front().now == 2);
  std::swap(base, now);

  const auto are_apart = [&](double now_began, const char* other_turns = "file") {
    now.began = now_began;
    now.turns = other_turns;
    return pairs().empty();
  };
  CHECK_FALSE(are_apart(*base.began + 0.5));
  CHECK(are_apart(*base.began + 0.5, "another"));
  CHECK(are_apart(*base.began + 20.5));   // after the other one
  CHECK(are_apart(*base.began - 3'600));  // an hour before
  CHECK(are_apart(*base.began + 0.1));    // at the same time, by another file of that name
  const qd1::decision separate = qd1::compare(base, now, "p50");
  CHECK(separate.spread == qd1::run_spread);
  CHECK_THAT(separate.remark, Contains("both took turns by file, but not with each other"));
  now.began.reset();  // a report that does not have it
  CHECK(pairs().empty());
}

// Most of what differs from round to round meets both of two rounds that are measured one after the other.
TEST_CASE("pairs of rounds detect how runs that took turns differ, on a host too restless for other runs") {
  normal_source chance(21);
  const auto pair_of_runs = [&](double slower) {
    std::pair<qd1::series, qd1::series> runs;
    take_turns(runs.first, runs.second);
    for (int round = 0; round < 100; ++round) {
      const double host = 0.4 * chance.normal();
      const auto add = [&](qd1::series& to, double median) {
        const double ns = median * std::exp(host + 0.08 * chance.normal());
        to.rounds.push_back({1. * round, {}, 0.02, 5'000, ns, {{0.5, ns}}, {}});
      };
      add(runs.first, 50'000);
      add(runs.second, 50'000 * slower);
    }
    return runs;
  };
  const auto verdicts = [&](difference wanted, double slower, const char* other_turns) {
    int found = 0;
    for (int each = 0; each < 100; ++each) {
      auto [base, now] = pair_of_runs(slower);
      now.turns = other_turns;
      if (qd1::compare(base, now, "p50").verdict == wanted) ++found;
    }
    return found;
  };
  CHECK(verdicts(difference::none, 1, "file") >= 95);
  CHECK(verdicts(difference::slower, 1.1, "file") >= 95);
  CHECK(verdicts(difference::faster, 1 / 1.1, "file") >= 95);
  CHECK(verdicts(difference::none, 1, "another") < 50);
  CHECK(verdicts(difference::inconclusive, 1, "") > 50);

  auto [base, now] = pair_of_runs(1);
  for (std::size_t each = 0; each < 30; ++each) now.rounds[each].disturbance.waited = 0.5;
  CHECK_THAT(qd1::compare(base, now, "p50").remark, Contains("0 of 100 and in 30 of 100 rounds, which are left out"));
}

TEST_CASE("a ratio whose interval says nothing is too variable to compare") {
  const auto is_too_variable = [](double low, double high) {
    return qd1::is_too_variable({1, qd1::interval{low, high}});
  };
  CHECK(is_too_variable(0.04, 51));
  CHECK(is_too_variable(0.3, 3.1));
  CHECK_FALSE(is_too_variable(0.5, 3));
  CHECK_FALSE(is_too_variable(2, 51));
  CHECK(qd1::is_too_variable({37, {}}));
  qd1::decision found;
  found.ratio = qd1::estimate{37, qd1::interval{0.04, 51}};
  CHECK(verdict_text(found) == "inconclusive, too variable to compare");
  found.ratio = qd1::estimate{1.1, qd1::interval{0.9, 1.4}};
  CHECK(verdict_text(found) == "inconclusive");
}

TEST_CASE("what is inconclusive says what helps") {
  normal_source chance(1);
  const host restless{0.2, 0, 0, 0};
  const qd1::decision found = qd1::compare(run_on(restless, chance), run_on(restless, chance), "p50");
  CHECK(found.verdict == difference::inconclusive);
  REQUIRE(found.rounds_needed);
  CHECK(*found.rounds_needed > 20);
  CHECK_THAT(found.remark, Contains(std::to_string(*found.rounds_needed) + " rounds of the same length might decide"));
  const qd1::decision few = qd1::compare(run_on(restless, chance, 1, 4), run_on(restless, chance), "p50");
  CHECK(few.verdict == difference::inconclusive);
  CHECK_FALSE(few.ratio);
  CHECK_THAT(few.remark, Contains("only 4 rounds") && Contains("5 are needed"));
}

// Rounds that end by time have fewer samples if they are slow.
TEST_CASE("rounds that lack the figure may be the slow ones, so there is no verdict without more than a very few") {
  normal_source chance(8);
  const host quiet{0.01, 0, 0, 0};
  const qd1::series base = run_on(quiet, chance);
  const auto without = [&](std::size_t rounds) {
    qd1::series now = run_on(quiet, chance);
    for (std::size_t each = 0; each < rounds; ++each) now.rounds[each].quantiles.pop_back();
    return qd1::compare(base, now, "p99");
  };
  CHECK(without(0).ratio);
  CHECK(without(0).missing.empty());
  CHECK(without(1).ratio);
  CHECK_THAT(without(1).remark, Contains("0 of 20 and 1 of 20 rounds lack it"));
  CHECK(without(2).verdict == difference::inconclusive);
  CHECK_FALSE(without(2).ratio);
  CHECK_THAT(without(2).remark, Contains("no verdict: 0 of 20 and 2 of 20 rounds lack it"));
  CHECK_FALSE(without(20).ratio);
  CHECK(without(20).missing == "0 of 20 and 20 of 20 rounds lack it");

  const std::vector<double> runs = {100, 101, 99, 100, 100};
  std::vector<double> lacking = runs;
  CHECK(qd1::decide_by_runs(runs, lacking).verdict == difference::none);
  lacking.front() = 0;
  CHECK_FALSE(qd1::decide_by_runs(runs, lacking).ratio);
  CHECK_THAT(qd1::decide_by_runs(runs, lacking).remark, Contains("0 of 5 and 1 of 5 runs lack it"));
}

TEST_CASE("rounds that took no time, as no run writes them, have no rate") {
  normal_source chance(5);
  qd1::series timeless = run_on({0.01, 0, 0, 0}, chance);
  for (qd1::round& each : timeless.rounds) each.seconds = 0;
  const qd1::decision found = qd1::compare(timeless, timeless, "iops");
  CHECK(found.verdict == difference::inconclusive);
  CHECK_FALSE(found.ratio);
}

TEST_CASE("rounds in which others had the processor are left out, and that is said") {
  normal_source chance(2);
  const host quiet{0.01, 0, 0, 0};
  const qd1::series base = run_on(quiet, chance);
  qd1::series now = run_on(quiet, chance);
  for (std::size_t each = 0; each < 8; ++each) {
    now.rounds[each].quantiles.front().ns *= 3;
    now.rounds[each].disturbance.waited = 0.5;
  }
  const qd1::decision found = qd1::compare(base, now, "p50");
  CHECK(found.verdict == difference::none);
  CHECK_THAT(found.remark, Contains("0 of 20 and in 8 of 20 rounds, which are left out"));
}

// A host that is busy all the time may have been so in one of the runs only, and its rounds agree with one another.
TEST_CASE("where others had the processor most of the time, a difference must be larger than that of single rounds") {
  normal_source chance(3);
  const host quiet{0.05, 0, 0, 0};
  const auto verdict = [&](double slower) {
    const qd1::series base = run_on(quiet, chance);
    qd1::series now = run_on(quiet, chance, 50'000 * slower);
    for (qd1::round& each : now.rounds) each.disturbance.stolen = 0.3;
    return qd1::compare(base, now, "p50");
  };
  CHECK(verdict(1.1).verdict == difference::inconclusive);
  CHECK(verdict(2).verdict == difference::slower);
  CHECK_THAT(verdict(1).remark, Contains("20 of 20 rounds") && Contains("single rounds"));
}

TEST_CASE("a ratio is that of the figures beside it") {
  normal_source chance(6);
  qd1::series base = run_on({0.02, 0, 0, 0.1}, chance);
  qd1::series now = run_on({0.02, 0, 0, 0.1}, chance, 55'000);
  for (const bool in_turn : {false, true}) {
    if (in_turn) take_turns(base, now);
    const qd1::decision found = qd1::compare(base, now, "p50");
    REQUIRE(found.ratio);
    CHECK(found.spread == (in_turn ? qd1::run_spread_in_turns : qd1::run_spread));
    CHECK(found.now / found.base == Approx(found.ratio->value));
    CHECK(found.base == Approx(50'000).epsilon(0.1));
  }
}

TEST_CASE("rounds on CPUs that differ are compared within their CPU") {
  normal_source chance(7);
  const auto on_two = [&](double slower) {
    qd1::series made = run_on({0.01, 0, 0, 0}, chance, 55'000 * slower);
    for (std::size_t each = 0; each < made.rounds.size(); ++each) {
      made.rounds[each].processor = each % 2;
      if (each % 2 == 1) made.rounds[each].quantiles.front().ns *= 76. / 55;
    }
    return made;
  };
  CHECK(qd1::compare(on_two(1), on_two(1), "p50").verdict == difference::none);
  CHECK(qd1::compare(on_two(1), on_two(1.1), "p50").verdict == difference::slower);
}

TEST_CASE("each figure has a verdict of its own") {
  normal_source chance(4);
  const host quiet{0.01, 0, 0, 0};
  const qd1::series base = run_on(quiet, chance);
  qd1::series now = run_on(quiet, chance);
  for (qd1::round& each : now.rounds) each.quantiles.back().ns *= 2;
  for (qd1::round& each : now.rounds) each.samples *= 2;
  CHECK(qd1::compare(base, now, "p50").verdict == difference::none);
  CHECK(qd1::compare(base, now, "p99").verdict == difference::slower);
  CHECK(qd1::compare(base, now, "p99").ratio->value == Approx(2).epsilon(0.05));
  CHECK(qd1::compare(base, now, "iops").verdict == difference::faster);
  CHECK_FALSE(qd1::compare(base, now, "p99.999").ratio);
}

TEST_CASE("the midmean ignores both ends, and trusts values less that resemble their neighbors") {
  const std::vector<double> values = {1000, 1, 2, 3, 4, 5, 6, -1000};
  CHECK(qd1::midmean(values).value == Approx(3.5));
  const std::vector<double> turning = {1, 9, 2, 8, 3, 7, 4, 6, 1, 9, 2, 8};
  std::vector<double> rising = turning;
  std::sort(rising.begin(), rising.end());
  CHECK(qd1::midmean(rising).value == Approx(qd1::midmean(turning).value));
  CHECK(qd1::midmean(rising).variance > 4 * qd1::midmean(turning).variance);
  CHECK(qd1::midmean(rising).single == Approx(qd1::midmean(turning).single));
  CHECK(qd1::midmean(std::vector<double>(6, 2.)).variance == 0);
}

}  // namespace
