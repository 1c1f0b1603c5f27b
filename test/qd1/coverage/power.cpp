// SPDX-License-Identifier: BSL-1.0
#include "power.hpp"

#include "compare/decision.hpp"
#include "random.hpp"
#include "statistics/between_runs.hpp"

#include <cmath>

namespace qd1_test {
namespace {

// How the median of a round differs from that of the next. All but `processor` are standard deviations and parts.
struct host {
  std::string name;
  double of_rounds = 0;  // independent from round to round
  double of_runs = 0;    // the same in all rounds of a run
  double slow = 0;       // wanders, remembering `memory` of itself from one round to the next
  double memory = 0;
  double to_high = 0;    // chance of a round to begin a visit to a level that is half as high again
  double to_low = 0;     // … to end it
  double disturbed = 0;  // of the rounds: by a third of the value and more
  double processor = 1;  // the second CPU of two takes this many times as long
  bool quiet = false;    // has to be decided
  bool rare = false;     // most runs look alike, and few differ by much: five runs cannot show that
};

std::vector<qd1::round_figure> run_on(const host& host, random_source& random, double slower, std::size_t rounds) {
  const double run = std::log(50'000 * slower) + host.of_runs * random.normal();
  double state = random.normal();
  bool high = host.to_high > 0 && random.chance(host.to_high / (host.to_high + host.to_low));
  std::vector<qd1::round_figure> found;
  for (std::size_t round = 0; round < rounds; ++round) {
    state = host.memory * state + std::sqrt(1 - host.memory * host.memory) * random.normal();
    if (random.chance(high ? host.to_low : host.to_high)) high = !high;
    double value = run + host.of_rounds * random.normal() + host.slow * state + (high ? std::log(1.5) : 0);
    if (random.chance(host.disturbed)) value -= 0.3 * std::log(random.uniform());
    if (round % 2 == 1) value += std::log(host.processor);
    found.push_back({std::exp(value), round % 2, false});
  }
  return found;
}

// The median of a run: at most that long take half of the samples, each round having the same weight. Samples scatter
// lognormally within a round.
double median_of(const std::vector<qd1::round_figure>& rounds) {
  constexpr double spread = 0.1;
  double low = 8;
  double high = 14;
  for (int step = 0; step < 30; ++step) {
    const double middle = (low + high) / 2;
    double below = 0;
    for (const qd1::round_figure& each : rounds)
      below += std::erfc((std::log(each.value) - middle) / (spread * std::sqrt(2.))) / 2;
    (below < 0.5 * static_cast<double>(rounds.size()) ? low : high) = middle;
  }
  return std::exp(low);
}

qd1::decision once(const host& host, random_source& random, double slower, std::size_t rounds) {
  return qd1::decide(run_on(host, random, 1, rounds), run_on(host, random, slower, rounds));
}

// The figure of a run is its median, as in a report.
std::vector<double> medians_of_runs(const host& host, random_source& random, double slower, std::size_t rounds) {
  constexpr int runs = 5;
  std::vector<double> found;
  for (int run = 0; run < runs; ++run) found.push_back(median_of(run_on(host, random, slower, rounds)));
  return found;
}

qd1::decision repeated(const host& host, random_source& random, double slower, std::size_t rounds) {
  const std::vector<double> base = medians_of_runs(host, random, 1, rounds);
  return qd1::decide_by_runs(base, medians_of_runs(host, random, slower, rounds));
}

// The geometric mean of the medians of many runs.
double true_median(const host& host) {
  random_source random(17);
  constexpr int runs = 20'000;
  double sum = 0;
  for (int run = 0; run < runs; ++run) sum += std::log(median_of(run_on(host, random, 1, 20)));
  return std::exp(sum / runs);
}

const std::vector<host>& hosts() {
  static const std::vector<host> all = {
      {.name = "quiet, 1 %", .of_rounds = 0.01, .quiet = true},
      {.name = "quiet, 2 %", .of_rounds = 0.02, .quiet = true},
      {.name = "restless, 10 %", .of_rounds = 0.1},
      {.name = "2 %, a tenth of the rounds disturbed", .of_rounds = 0.02, .disturbed = 0.1},
      {.name = "2 %, runs differ by 3 %", .of_rounds = 0.02, .of_runs = 0.03},
      {.name = "AR(0.95) of rounds, 3 %", .of_rounds = 0.005, .slow = 0.03, .memory = 0.95},
      {.name = "AR(0.95) of rounds, 10 %", .of_rounds = 0.005, .slow = 0.1, .memory = 0.95},
      {.name = "AR(0.8) of rounds, 10 %", .of_rounds = 0.005, .slow = 0.1, .memory = 0.8},
      {.name = "1 %, flips of 50 %, one round in 50, for 5 rounds",
       .of_rounds = 0.01,
       .to_high = 0.02,
       .to_low = 0.2,
       .rare = true},
      {.name = "1 %, flips of 50 %, one round in 10, either way", .of_rounds = 0.01, .to_high = 0.1, .to_low = 0.1},
      {.name = "1 %, CPUs of 55 and 76 µs in turn", .of_rounds = 0.01, .processor = 76. / 55, .quiet = true},
  };
  return all;
}

}  // namespace

std::vector<verdicts> compare_simulated(std::size_t pairs, std::uint64_t seed) {
  random_source random(seed);
  std::vector<verdicts> all;
  for (const host& each : hosts())
    for (const double slower : {1., 1.1})
      for (const bool repeats : {false, true}) {
        verdicts found;
        found.host = each.name;
        found.slower = slower;
        found.rounds = 20;
        found.quiet = each.quiet;
        found.repeated = repeats;
        found.pairs = pairs;
        for (std::size_t pair = 0; pair < pairs; ++pair) {
          const qd1::decision decided = (repeats ? repeated : once)(each, random, slower, found.rounds);
          const bool none = decided.verdict == qd1::difference::none;
          const bool inconclusive = decided.verdict == qd1::difference::inconclusive;
          found.none += none;
          found.inconclusive += inconclusive;
          found.different += !none && !inconclusive;
        }
        all.push_back(found);
      }
  return all;
}

std::vector<repeat_cell> repeat_simulated(std::size_t repetitions, std::uint64_t seed) {
  random_source random(seed);
  std::vector<repeat_cell> all;
  for (const host& each : hosts()) {
    repeat_cell found;
    found.host = each.name;
    found.rare = each.rare;
    found.repetitions = repetitions;
    const double truth = true_median(each);
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      const auto a = *qd1::between_runs(medians_of_runs(each, random, 1, 20)).interval;
      const auto b = *qd1::between_runs(medians_of_runs(each, random, 1, 20)).interval;
      found.covered += a.low <= truth && truth <= a.high;
      found.overlapping += a.low <= b.high && b.low <= a.high;
    }
    all.push_back(found);
  }
  return all;
}

}  // namespace qd1_test
