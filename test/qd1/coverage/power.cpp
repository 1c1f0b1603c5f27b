// SPDX-License-Identifier: BSL-1.0
#include "power.hpp"

#include "compare/decision.hpp"
#include "random.hpp"

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

qd1::decision once(const host& host, random_source& random, double slower, std::size_t rounds) {
  return qd1::decide(run_on(host, random, 1, rounds), run_on(host, random, slower, rounds));
}

// The figure of a run is what compare prints of it.
qd1::decision repeated(const host& host, random_source& random, double slower, std::size_t rounds) {
  constexpr int runs = 5;
  std::vector<double> base;
  std::vector<double> now;
  for (int run = 0; run < runs; ++run) {
    const qd1::decision found = once(host, random, slower, rounds);
    base.push_back(found.base);
    now.push_back(found.now);
  }
  return qd1::decide_by_runs(base, now);
}

}  // namespace

std::vector<verdicts> compare_simulated(std::size_t pairs, std::uint64_t seed) {
  const host hosts[] = {
      {.name = "quiet, 1 %", .of_rounds = 0.01, .quiet = true},
      {.name = "quiet, 2 %", .of_rounds = 0.02, .quiet = true},
      {.name = "restless, 10 %", .of_rounds = 0.1},
      {.name = "2 %, a tenth of the rounds disturbed", .of_rounds = 0.02, .disturbed = 0.1},
      {.name = "2 %, runs differ by 3 %", .of_rounds = 0.02, .of_runs = 0.03},
      {.name = "AR(0.95) of rounds, 3 %", .of_rounds = 0.005, .slow = 0.03, .memory = 0.95},
      {.name = "AR(0.95) of rounds, 10 %", .of_rounds = 0.005, .slow = 0.1, .memory = 0.95},
      {.name = "AR(0.8) of rounds, 10 %", .of_rounds = 0.005, .slow = 0.1, .memory = 0.8},
      {.name = "1 %, flips of 50 %, one round in 50, for 5 rounds", .of_rounds = 0.01, .to_high = 0.02, .to_low = 0.2},
      {.name = "1 %, flips of 50 %, one round in 10, either way", .of_rounds = 0.01, .to_high = 0.1, .to_low = 0.1},
      {.name = "1 %, CPUs of 55 and 76 us in turn", .of_rounds = 0.01, .processor = 76. / 55, .quiet = true},
  };
  random_source random(seed);
  std::vector<verdicts> all;
  for (const host& each : hosts)
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

}  // namespace qd1_test
