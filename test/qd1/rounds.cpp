// SPDX-License-Identifier: BSL-1.0
// Intervals by rounds, between runs, and the decision whether runs differ: case by case. coverage/ has the simulations.
#include "catch.hpp"
#include "compare/decision.hpp"
#include "normal_source.hpp"
#include "statistics/between_runs.hpp"
#include "statistics/levels.hpp"
#include "statistics/monotone.hpp"
#include "statistics/order_statistics.hpp"
#include "statistics/pooled_rounds.hpp"
#include "statistics/serial_mean.hpp"
#include "statistics/settling.hpp"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

namespace {

using qd1::difference;
using qd1_test::normal_source;
using qio_test::Contains;

// Samples spread over 21 bins around the middle.
qd1::sampled_round round_at(double ns, std::uint64_t samples = 2'100) {
  qd1::sampled_round made;
  for (int step = -10; step <= 10; ++step) made.bins.push_back({ns * (1 + step / 200.), samples / 21});
  made.mean = ns;
  return made;
}

std::vector<qd1::sampled_round> rounds_about(double spread, int rounds = 20) {
  normal_source chance(1);
  std::vector<qd1::sampled_round> made;
  for (int round = 0; round < rounds; ++round) made.push_back(round_at(50'000 * (1 + spread * chance.normal())));
  return made;
}

TEST_CASE("limits of percentiles rise with them, and values stay between") {
  const auto with = [](double fraction, double low, double value, double high) {
    return qd1::percentile{fraction, 0, qd1::estimate{value, qd1::interval{low, high}}};
  };
  std::vector<qd1::percentile> all = {with(0.5, 90, 100, 260),
                                      with(0.9, 95, 150, 250),
                                      with(0.99, 30, 200, 230),
                                      {0.999, 1'000, std::nullopt},
                                      with(0.9999, 50, 400, 500)};
  qd1::make_monotone(all);
  const std::vector<double> lows = {90, 95, 95, 95}, highs = {230, 230, 230, 500};
  std::size_t number = 0;
  for (const qd1::percentile& each : all) {
    if (!each.value) continue;
    CHECK(each.value->interval->low == lows[number]);
    CHECK(each.value->interval->high == highs[number]);
    ++number;
  }
  CHECK(number == 4);
}

TEST_CASE("percentiles and the mean are those of all samples, however many a round has") {
  std::vector<qd1::sampled_round> rounds;
  for (int round = 0; round < 20; ++round)
    rounds.push_back(round % 5 < 2 ? round_at(10'000, 21'000) : round_at(90'000, 2'100));
  const qd1::pooled_rounds together(rounds);
  CHECK(together.quantile(0.5).value == Approx(10'000).epsilon(0.05));
  CHECK(together.quantile(0.9).value == Approx(90'000).epsilon(0.05));
  CHECK(together.mean().value == Approx((8 * 21'000 * 10'000. + 12 * 2'100 * 90'000.) / (8 * 21'000 + 12 * 2'100)));
  CHECK(qd1::quantile_by_rounds(rounds, 0.5) == Approx(90'000).epsilon(0.05));
}

TEST_CASE("a percentile is the sample of that rank among those of all rounds, from the first to the last") {
  // Each round is slower than the one before, so none can be left out.
  std::vector<qd1::sampled_round> rounds;
  std::vector<double> samples;
  for (int round = 0; round < 7; ++round) {
    qd1::sampled_round& made = rounds.emplace_back();
    for (int each = 0; each < 30; ++each) {
      const double ns = 10'000 * (1 + round) + 100 * each;
      const auto count = static_cast<std::uint64_t>(1 + (each * 7 + round) % 5);
      made.bins.push_back({ns, count});
      samples.insert(samples.end(), count, ns);
    }
  }
  const qd1::pooled_rounds together(rounds);
  for (const double fraction : {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99}) {
    INFO(fraction);
    const double wanted = samples[qd1::percentile_rank(fraction, samples.size()) - 1];
    CHECK(together.quantile(fraction).value == Approx(wanted).epsilon(1. / 1024));
  }
}

// Reads of 80 us with a pause of 0.3 s now and then: rounds in which one begins have a single sample, or few.
std::vector<qd1::sampled_round> rounds_with_pauses() {
  std::vector<qd1::sampled_round> rounds;
  for (int round = 0; round < 20; ++round) {
    rounds.push_back(round % 4 == 0 ? qd1::sampled_round{{}, 0, {}} : round_at(80'000, 2'100));
    if (round % 4 != 0) continue;
    rounds.back().bins.push_back({3e8, 1});
    rounds.back().mean = 3e8;
  }
  return rounds;
}

TEST_CASE("a round of a single slow sample does not move percentiles") {
  const qd1::pooled_rounds together(rounds_with_pauses());
  CHECK(together.quantile(0.99).value == Approx(84'000).epsilon(0.01));
  CHECK(together.mean().value == Approx((15 * 2'100 * 80'000. + 5 * 3e8) / (15 * 2'100 + 5)));
  CHECK_THAT(together.mean().withheld, Contains("handful"));
  CHECK(qd1::quantile_by_rounds(rounds_with_pauses(), 0.99) == Approx(84'000).epsilon(0.01));
}

TEST_CASE("the interval of a ratio is that of the rounds where all have the same number of samples") {
  std::vector<qd1::round> rounds;
  normal_source chance(11);
  std::vector<double> rates;
  for (int round = 0; round < 20; ++round) {
    rates.push_back(std::round(10'000 * (1 + 0.02 * chance.normal())));
    rounds.push_back({1. * round, {}, 1, static_cast<std::uint64_t>(rates.back()), 0, {}, {}});
  }
  const qd1::serial_mean plain = qd1::mean_in_order(rates);
  const qd1::estimate found = qd1::rate_of_rounds(plain.value, rounds);
  REQUIRE(found.interval);
  CHECK(std::log(found.interval->high / found.value) == Approx(plain.half_width() / plain.value));
}

TEST_CASE("the interval of a ratio of rounds that differ in length is that of leaving out one after the other") {
  std::vector<qd1::round> rounds;
  normal_source chance(14);
  double samples = 0, seconds = 0, squares = 0;
  for (int round = 0; round < 20; ++round) {
    const double length = 1 + round % 4;
    const auto count = static_cast<std::uint64_t>(length * 10'000 * (1 + 0.02 * chance.normal()));
    rounds.push_back({1. * round, {}, length, count, 0, {}, {}});
    samples += static_cast<double>(count);
    seconds += length;
    squares += length * length;
  }
  const double rate = samples / seconds;
  std::vector<double> pseudo_values;
  for (const qd1::round& each : rounds) {
    const double without = (samples - static_cast<double>(each.samples)) / (seconds - each.seconds);
    pseudo_values.push_back(20 * rate - 19 * without);
  }
  qd1::serial_mean wanted = qd1::mean_in_order(pseudo_values);
  wanted.freedom -= 20 - seconds * seconds / squares;  // rounds of the same length that are worth as much
  const qd1::estimate found = qd1::rate_of_rounds(rate, rounds);
  REQUIRE(found.interval);
  CHECK(std::log(found.interval->high / rate) == Approx(wanted.half_width() / rate));
}

TEST_CASE("an interval of a rate does not begin at 0, however much the rounds differ") {
  std::vector<qd1::round> rounds;
  normal_source chance(12);
  for (int round = 0; round < 20; ++round)
    rounds.push_back(
        {1. * round, {}, 1, static_cast<std::uint64_t>(10 * std::exp(3 * chance.normal())) + 1, 0, {}, {}});
  const qd1::estimate found = qd1::rate_of_rounds(100, rounds);
  REQUIRE(found.interval);
  CHECK(found.interval->low > 0);
  CHECK(found.interval->low < 100);
}

TEST_CASE("an interval by rounds surrounds its percentile and is about this run") {
  const qd1::pooled_rounds together(rounds_about(0.01));
  for (const double fraction : {0.05, 0.5, 0.95}) {
    const qd1::estimate found = together.quantile(fraction);
    REQUIRE(found.interval);
    CHECK(found.withheld.empty());
    CHECK(found.interval->low < found.value);
    CHECK(found.value < found.interval->high);
    CHECK(found.scope == qd1::scope::within_run);
  }
  CHECK(name(qd1::scope::within_run) == "within this run");
  CHECK(name(qd1::scope::between_runs) == "between runs");
}

TEST_CASE("an interval is as wide as the bin of its percentile at least") {
  const qd1::sampled_round same{{{50'000, 1'000}}, 50'000, {}};
  const qd1::estimate found = qd1::pooled_rounds(std::vector(20, same)).quantile(0.5);
  REQUIRE(found.interval);
  CHECK(found.interval->low == Approx(50'000 * (1 - 1. / 1024)));
  CHECK(found.interval->high == Approx(50'000 * (1 + 1. / 1024)));
}

TEST_CASE("an interval is withheld with the reason") {
  CHECK_THAT(qd1::pooled_rounds({}).quantile(0.5).withheld, Contains("no samples"));
  CHECK_THAT(qd1::pooled_rounds(rounds_about(0.01, 7)).quantile(0.5).withheld, Contains("7 rounds") && Contains("8"));
  CHECK_THAT(qd1::pooled_rounds(rounds_about(0.01)).quantile(0.999).withheld, Contains("2.1 samples of a round"));
  std::vector<qd1::sampled_round> rising;
  for (int round = 0; round < 20; ++round) rising.push_back(round_at(50'000 + 500 * round));
  CHECK_THAT(qd1::pooled_rounds(rising).quantile(0.5).withheld, Contains("20 rounds are worth"));
  CHECK_THAT(qd1::pooled_rounds(rising).mean().withheld, Contains("20 rounds are worth"));
  std::vector<qd1::sampled_round> two;
  for (int round = 0; round < 20; ++round) two.push_back(round_at(round / 5 % 2 == 0 ? 60'000 : 90'000));
  CHECK_THAT(qd1::pooled_rounds(two).quantile(0.5).withheld, Contains("60.0 µs and 90.0 µs") && Contains("5.0 rounds"));
  std::vector<qd1::sampled_round> uneven = rounds_about(0.01);
  for (int round = 0; round < 3; ++round) uneven[5 * static_cast<std::size_t>(round)] = round_at(50'000, 210'000);
  CHECK_THAT(qd1::pooled_rounds(uneven).quantile(0.5).withheld, Contains("a few rounds have most of the samples"));
  std::vector<qd1::sampled_round> bursts = rounds_about(0.01);
  for (int round = 0; round < 3; ++round) bursts[5 * static_cast<std::size_t>(round)].bins.push_back({90'000, 400});
  CHECK_THAT(qd1::pooled_rounds(bursts).quantile(0.99).withheld, Contains("from a few rounds"));
  CHECK(qd1::pooled_rounds(bursts).quantile(0.5).withheld.empty());
  std::vector<qd1::sampled_round> rare = rounds_about(0.01);
  for (int round = 0; round < 3; ++round) rare[5 * static_cast<std::size_t>(round)].bins.push_back({1e9, 1});
  CHECK_THAT(qd1::pooled_rounds(rare).mean().withheld, Contains("handful"));
  CHECK(qd1::pooled_rounds(rare).quantile(0.5).withheld.empty());
}

// Samples that depend on one another for longer than a round, but not so clearly that the medians alone show it.
TEST_CASE("rounds that resemble their neighbors, and differ by far more than samples do, support no interval") {
  const auto waves = [](double height) {
    constexpr double rounds_a_wave = 8;
    std::vector<qd1::sampled_round> made;
    for (int round = 0; round < 20; ++round)
      made.push_back(round_at(50'000 * (1 + height * std::sin(round * 2 * std::numbers::pi / rounds_a_wave))));
    return qd1::pooled_rounds(made);
  };
  for (const double fraction : {0.5, 0.95}) {
    INFO(fraction);
    CHECK_THAT(waves(0.02).quantile(fraction).withheld, Contains("neighboring rounds are alike: 20 rounds are worth"));
    CHECK(waves(0.0005).quantile(fraction).interval);
  }
  CHECK_THAT(waves(0.02).mean().withheld, Contains("neighboring rounds are alike"));
}

// Direct reads took 76 us on one CPU and 55 on the other.
TEST_CASE("rounds on CPUs in turn are compared with those of their own CPU") {
  normal_source chance(2);
  std::vector<qd1::sampled_round> rounds;
  for (std::uint64_t round = 0; round < 20; ++round)
    rounds.push_back(round_at((round % 2 == 0 ? 55'000 : 76'000) * (1 + 0.005 * chance.normal())));
  const auto width = [&] {
    const auto found = qd1::pooled_rounds(rounds).mean();
    REQUIRE(found.interval);
    return found.interval->high - found.interval->low;
  };
  const double unknown = width();
  for (std::uint64_t round = 0; round < 20; ++round) rounds[round].processor = round % 2;
  CHECK(width() < unknown / 10);
}

TEST_CASE("two levels are distinguished from scatter, and lasting ones from those that change each round") {
  CHECK_FALSE(qd1::two_levels(std::vector<double>{1, 1.1, 1.2, 1.3, 1.4, 1.5}));
  CHECK_FALSE(qd1::two_levels(std::vector<double>(10, 5)));
  CHECK_FALSE(qd1::two_levels(std::vector<double>{5, 5, 5, 5, 50}));
  const auto lasting = qd1::two_levels(std::vector<double>{6, 6, 6, 6, 6, 9, 9, 9, 9, 9, 6, 6, 6, 6, 6, 6});
  REQUIRE(lasting);
  CHECK(lasting->low == Approx(6));
  CHECK(lasting->high == Approx(9));
  CHECK(lasting->lasting);
  const auto in_turn = qd1::two_levels(std::vector<double>{6, 9, 6, 9, 6, 9, 6, 9, 6, 9});
  REQUIRE(in_turn);
  CHECK_FALSE(in_turn->lasting);
}

TEST_CASE("values that resemble their neighbors are worth fewer") {
  normal_source chance(3);
  std::vector<double> independent;
  std::vector<double> walk;
  for (int each = 0; each < 50; ++each) {
    independent.push_back(chance.normal());
    walk.push_back((walk.empty() ? 0 : walk.back()) + chance.normal());
  }
  CHECK(qd1::mean_in_order(independent).effective == 50);
  CHECK(qd1::mean_in_order(walk).effective < 8);
  CHECK(qd1::mean_in_order(walk).suspect);
  CHECK(qd1::mean_in_order(std::vector<double>(10, 2.)).half_width() == 0);
}

TEST_CASE("repeated runs have an interval of their own") {
  const qd1::estimate found = qd1::between_runs(std::vector<double>{100, 103, 98, 101, 99});
  REQUIRE(found.interval);
  CHECK(found.scope == qd1::scope::between_runs);
  // By hand: t(4) = 2.776, deviation of the logarithms 0.01911.
  CHECK(found.value == Approx(100.185).epsilon(1e-4));
  CHECK(found.interval->high / found.value == Approx(std::exp(2.776 * 0.01911 / std::sqrt(5.))).epsilon(1e-3));
  CHECK_THAT(qd1::between_runs(std::vector<double>{100, 103}).withheld, Contains("2 runs") && Contains("3"));
  CHECK_THAT(qd1::between_runs({}).withheld, Contains("no runs"));
  CHECK_FALSE(qd1::between_runs(std::vector<double>{1, 2, 0}).interval);
  const qd1::estimate wild = qd1::between_runs(std::vector<double>{1e3, 1e3, 1e10});
  CHECK_FALSE(wild.interval);
  CHECK_THAT(wild.withheld, Contains("differ by a factor of 1e+07"));
}

TEST_CASE("intervals between runs of the same thing overlap in nine of ten pairs at least") {
  normal_source chance(4);
  const auto repeated = [&] {
    std::vector<double> runs;
    for (int run = 0; run < 5; ++run) runs.push_back(50'000 * std::exp(0.03 * chance.normal()));
    return *qd1::between_runs(runs).interval;
  };
  int overlapping = 0;
  for (int pair = 0; pair < 1'000; ++pair) {
    const auto a = repeated();
    const auto b = repeated();
    overlapping += a.low <= b.high && b.low <= a.high;
  }
  CHECK(overlapping >= 900);
}

std::vector<qd1::round_median> medians(const std::vector<double>& us) {
  std::vector<qd1::round_median> found;
  for (const double each : us) found.push_back({1'000 * each, std::nullopt});
  return found;
}

TEST_CASE("reads that warm up or drift are found out") {
  const auto warming = qd1::how_settled(medians({623, 400, 150, 61, 60, 62, 61, 60, 61, 62, 61, 60}));
  REQUIRE(warming);
  CHECK(warming->warm_up == 3);
  CHECK_FALSE(warming->drifts);
  CHECK_THAT(warming->text, Contains("first 3 of 12") && Contains("623.0 µs") && Contains("61.0 µs"));
  const auto drifting = qd1::how_settled(medians({50, 52, 53, 55, 56, 58, 60, 61, 63, 64, 66, 68}));
  REQUIRE(drifting);
  CHECK(drifting->drifts);
  CHECK_THAT(drifting->text, Contains("from first to last"));
  const auto steady = qd1::how_settled(medians({61, 60, 62, 61, 60, 61, 62, 61, 60, 61}));
  REQUIRE(steady);
  CHECK(steady->settled());
  CHECK(steady->text.empty());
  CHECK_FALSE(qd1::how_settled(medians({61, 60, 62})));
}

TEST_CASE("rounds that scatter, or run on CPUs in turn, are settled") {
  normal_source chance(5);
  int settled = 0;
  for (int run = 0; run < 1'000; ++run) {
    std::vector<qd1::round_median> rounds;
    for (std::uint64_t round = 0; round < 20; ++round)
      rounds.push_back({(round % 2 == 0 ? 55'000 : 76'000) * std::exp(0.1 * chance.normal()), round % 2});
    settled += qd1::how_settled(rounds)->settled();
  }
  CHECK(settled >= 980);
}

TEST_CASE("a random walk is not called steady, and has no interval") {
  normal_source chance(13);
  constexpr int walks = 200, rounds = 20, steps = 50;
  int settled = 0, settled_in_turn = 0, given = 0;
  for (int walk = 0; walk < walks; ++walk) {
    double level = 0;
    std::vector<qd1::round_median> found, in_turn;  // on CPUs that are unknown, or on two in turn
    std::vector<qd1::sampled_round> sampled;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      double sum = 0;
      for (int step = 0; step < steps; ++step) sum += level += 0.2 / std::sqrt(1. * rounds * steps) * chance.normal();
      found.push_back({50'000 * std::exp(sum / steps), std::nullopt});
      in_turn.push_back({found.back().ns, round % 2});
      sampled.push_back(round_at(found.back().ns));
    }
    settled += qd1::how_settled(found)->settled();
    settled_in_turn += qd1::how_settled(in_turn)->settled();
    given += qd1::pooled_rounds(sampled).quantile(0.5).interval.has_value();
  }
  CHECK(settled <= walks / 10);
  CHECK(settled_in_turn <= walks / 10);
  CHECK(given <= walks / 10);
}

std::vector<qd1::round_figure> run_at(double ns, double spread, normal_source& chance, int rounds = 20) {
  std::vector<qd1::round_figure> made;
  for (int round = 0; round < rounds; ++round) made.push_back({ns * std::exp(spread * chance.normal()), {}, false});
  return made;
}

TEST_CASE("a ratio is that of the figures beside it") {
  normal_source chance(6);
  for (const bool in_turn : {false, true}) {
    const auto found = qd1::decide(run_at(106'900, 0.02, chance), run_at(84'300, 0.02, chance), {.in_turn = in_turn});
    REQUIRE(found.ratio);
    CHECK(found.verdict == difference::faster);
    CHECK(found.ratio->value == Approx(found.now / found.base));
    CHECK(found.base == Approx(106'900).epsilon(0.02));
  }
  const auto by_runs = qd1::decide_by_runs(std::vector<double>{100, 101, 99}, std::vector<double>{120, 121, 119});
  CHECK(by_runs.verdict == difference::slower);
  CHECK(by_runs.ratio->value == Approx(by_runs.now / by_runs.base));
  CHECK(qd1::decide_by_runs(std::vector<double>{100, 101, 99}, std::vector<double>{120, 121, 119}, true).verdict ==
        difference::faster);
}

TEST_CASE("a small difference that is certain is not called none") {
  normal_source chance(14);
  const auto small = qd1::decide_by_runs(std::vector<double>{100, 100.1, 99.9}, std::vector<double>{104.9, 105, 104.8});
  CHECK(small.verdict == difference::none);
  CHECK(small.differs());
  CHECK(qd1::verdict_text(small) == "differs, by less than 5 %");
  const auto same = qd1::decide(run_at(50'000, 0.01, chance), run_at(50'000, 0.01, chance));
  CHECK_FALSE(same.differs());
  CHECK(qd1::verdict_text(same) == "no difference");
  const auto slower = qd1::decide(run_at(50'000, 0.01, chance), run_at(60'000, 0.01, chance));
  CHECK(qd1::verdict_text(slower) == "SLOWER");
}

TEST_CASE("a figure that differs more between runs of the same thing has to differ more") {
  normal_source chance(15);
  const auto base = run_at(50'000, 0.005, chance), now = run_at(60'000, 0.005, chance);
  CHECK(qd1::decide(base, now).verdict == difference::slower);
  CHECK(qd1::decide(base, now, {.spread_factor = qd1::spread_factor("p99")}).verdict == difference::inconclusive);
  CHECK(qd1::spread_factor("p50") == 1);
  CHECK(qd1::spread_factor("p99.9") > qd1::spread_factor("p99"));
}

TEST_CASE("of many verdicts, those that are not certain enough for their number are inconclusive") {
  normal_source chance(16);
  constexpr int many = 20;
  int wrong = 0, alone = 0, right = 0;
  for (int page = 0; page < 200; ++page) {
    std::vector<qd1::decision> all;
    for (int each = 0; each < many; ++each) {
      // As the assumed spread of runs has it.
      const double of_run = qd1::run_spread * std::sqrt(2.) * chance.normal();
      all.push_back(qd1::decide(run_at(50'000, 0.005, chance), run_at(50'000 * std::exp(of_run), 0.005, chance)));
    }
    all.push_back(qd1::decide(run_at(50'000, 0.005, chance), run_at(65'000, 0.005, chance)));
    const auto differs = [](const qd1::decision& each) {
      return each.verdict == difference::faster || each.verdict == difference::slower;
    };
    alone += std::any_of(all.begin(), all.begin() + many, differs);
    std::vector<qd1::decision*> pointers;
    for (qd1::decision& each : all) pointers.push_back(&each);
    qd1::allow_for_many(pointers);
    wrong += std::any_of(all.begin(), all.begin() + many, differs);
    right += differs(all.back());
  }
  CHECK(alone > 50);
  CHECK(wrong <= 16);  // 5 % of 200, and two standard deviations
  CHECK(right == 200);
}

TEST_CASE("the first verdict that is not certain enough for its number makes all less certain ones inconclusive") {
  // The last one would be certain on its own: 0.04 is below 0.05 / 1. The one before it is not: 0.03 is above 0.05 / 2.
  std::vector<qd1::decision> all(3);
  const std::vector<double> chances = {0.001, 0.03, 0.04};
  std::vector<qd1::decision*> pointers;
  for (std::size_t each = 0; each < all.size(); ++each) {
    all[each].ratio = qd1::estimate{1.2, qd1::interval{1.1, 1.3}};
    all[each].verdict = difference::slower;
    all[each].chance = chances[each];
    pointers.push_back(&all[each]);
  }
  qd1::allow_for_many(pointers);
  CHECK(all[0].verdict == difference::slower);
  CHECK(all[1].verdict == difference::inconclusive);
  CHECK(all[2].verdict == difference::inconclusive);
}

TEST_CASE("what is inconclusive says how many rounds, or runs, would decide") {
  normal_source chance(7);
  const auto restless = qd1::decide(run_at(50'000, 0.2, chance), run_at(50'000, 0.2, chance));
  REQUIRE(restless.verdict == difference::inconclusive);
  REQUIRE(restless.rounds_needed);
  CHECK(*restless.rounds_needed > 20);
  CHECK_THAT(restless.remark, Contains(std::to_string(*restless.rounds_needed) + " rounds"));
  const auto narrow = qd1::decide(run_at(50'000, 0.001, chance), run_at(53'500, 0.001, chance));
  REQUIRE(narrow.verdict == difference::inconclusive);
  CHECK_FALSE(narrow.rounds_needed);
  REQUIRE(narrow.repeats_needed);
  CHECK_THAT(narrow.remark, Contains(std::to_string(*narrow.repeats_needed) + " runs of each"));
  const auto few = qd1::decide(run_at(50'000, 0.01, chance, 4), run_at(50'000, 0.01, chance));
  CHECK_FALSE(few.ratio);
  CHECK(few.rounds_needed == 5u);
}

TEST_CASE("that many rounds decide in most cases") {
  normal_source chance(8);
  int decided = 0;
  int asked = 0;
  for (int pair = 0; pair < 200; ++pair) {
    const auto found = qd1::decide(run_at(50'000, 0.05, chance), run_at(60'000, 0.4, chance));
    if (!found.rounds_needed) continue;
    ++asked;
    const int rounds = static_cast<int>(*found.rounds_needed);
    decided += qd1::decide(run_at(50'000, 0.05, chance, rounds), run_at(60'000, 0.4, chance, rounds)).verdict !=
               difference::inconclusive;
  }
  CHECK(asked > 20);
  CHECK(decided * 2 > asked);
}

TEST_CASE("disturbed rounds are left out of a decision, and that is said") {
  normal_source chance(9);
  const auto base = run_at(50'000, 0.005, chance);
  auto now = run_at(50'000, 0.005, chance);
  for (std::size_t each = 0; each < 8; ++each) {
    now[each].value *= 3;
    now[each].disturbed = true;
  }
  const auto found = qd1::decide(base, now);
  CHECK(found.verdict == difference::none);
  CHECK_THAT(found.remark, Contains("0 of 20 and in 8 of 20 rounds, which are left out"));
  for (auto& each : now) each.disturbed = true;
  CHECK_THAT(qd1::decide(base, now).remark, Contains("single rounds"));
}

TEST_CASE("each CPU is compared with itself where every round has its own") {
  normal_source chance(10);
  std::vector<qd1::round_figure> base;
  std::vector<qd1::round_figure> now;
  for (std::uint64_t processor = 0; processor < 20; ++processor) {
    const double level = 50'000 * std::exp(0.3 * chance.normal());
    base.push_back({level * std::exp(0.005 * chance.normal()), processor, false});
    now.push_back({1.1 * level * std::exp(0.005 * chance.normal()), processor, false});
  }
  const auto found = qd1::decide(base, now);
  CHECK(found.verdict == difference::slower);
  CHECK(found.ratio->value == Approx(1.1).epsilon(0.01));
}

}  // namespace
