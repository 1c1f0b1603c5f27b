// SPDX-License-Identifier: BSL-1.0
#include "pairs.hpp"

#include "compare/pair_test.hpp"
#include "random.hpp"

#include <cmath>

namespace qd1_test {
namespace {

constexpr double effect = 0.02;
constexpr double error = 0.05;
constexpr std::size_t most_pairs = 200;

// How the logarithm of a run's median differs from that of the run before it.
struct order_of_runs {
  std::string name;
  double of_runs = 0;    // independent from run to run: a standard deviation
  double slow = 0;       // wanders, remembering `memory` of itself: a standard deviation
  double memory = 0;     // 1: it never comes back, and `slow` is that of a step
  double drift = 0;      // per run
  double second = 0;     // added to the second run of a pair
  double disturbed = 0;  // part of the runs, which take a third longer and more
  double flips = 0;      // chance of a run to begin or to end a level that is half as high again
};

class slots {
 public:
  slots(const order_of_runs& of, random_source& random) : of_(of), random_(random) {
    if (of.memory < 1) state_ = random.normal();
  }

  double next(bool is_second) {
    const double fresh = of_.memory < 1 ? std::sqrt(1 - of_.memory * of_.memory) : 1;
    state_ = of_.memory * state_ + fresh * random_.normal();
    if (random_.chance(of_.flips)) high_ = !high_;
    double value = of_.of_runs * random_.normal() + of_.slow * state_ + of_.drift * static_cast<double>(count_++);
    if (random_.chance(of_.disturbed)) value -= 0.3 * std::log(random_.uniform());
    return value + (is_second ? of_.second : 0) + (high_ ? std::log(1.5) : 0);
  }

 private:
  const order_of_runs& of_;
  random_source& random_;
  double state_ = 0;
  bool high_ = false;
  std::size_t count_ = 0;
};

void detect(const order_of_runs& host, random_source& random, double slower, detections& to) {
  slots time(host, random);
  qd1::pair_test test(effect, error);
  qd1::detected found = qd1::detected::undecided;
  while (test.pairs() < most_pairs && found == qd1::detected::undecided) {
    const double first = std::exp(time.next(false));
    const double second = std::exp(time.next(true));
    random.chance(0.5) ? test.add(first, second * slower) : test.add(second, first * slower);
    found = test.verdict();
  }
  const bool different = found == qd1::detected::faster || found == qd1::detected::slower;
  const bool right = found == qd1::detected::slower && slower > 1;
  to.tries += 1;
  to.right += right;
  to.wrong += different && !right;
  to.none += found == qd1::detected::none;
  to.undecided += found == qd1::detected::undecided;
  to.pairs += test.pairs();
  const auto ends = test.ratio().interval;
  to.missed += ends && (ends->low > slower || slower > ends->high);
}

const std::vector<order_of_runs>& hosts() {
  static const std::vector<order_of_runs> all = {
      {.name = "runs differ by 1 %", .of_runs = 0.01},
      {.name = "runs differ by 3 %", .of_runs = 0.03},
      {.name = "runs differ by 5 %", .of_runs = 0.05},
      {.name = "AR(0.9), 10 %", .of_runs = 0.01, .slow = 0.1, .memory = 0.9},
      {.name = "AR(0.99), 10 %", .of_runs = 0.01, .slow = 0.1, .memory = 0.99},
      {.name = "a random walk in steps of 2 %", .of_runs = 0.01, .slow = 0.02, .memory = 1},
      {.name = "a drift of 1 % a run", .of_runs = 0.01, .drift = 0.01},
      {.name = "the second run of a pair is 5 % slower", .of_runs = 0.01, .second = 0.05},
      {.name = "2 %, a tenth of the runs disturbed", .of_runs = 0.02, .disturbed = 0.1},
      {.name = "2 %, flips of 50 %, one run in 10", .of_runs = 0.02, .flips = 0.1},
  };
  return all;
}

}  // namespace

std::vector<detections> detect_simulated(std::size_t tries, std::uint64_t seed) {
  random_source random(seed);
  std::vector<detections> all;
  for (const order_of_runs& host : hosts())
    for (const double slower : {1., 1.01, 1.02, 1.04, 1.05, 1.1}) {
      detections found;
      found.host = host.name;
      found.slower = slower;
      for (std::size_t each = 0; each < tries; ++each) detect(host, random, slower, found);
      all.push_back(found);
    }
  return all;
}

}  // namespace qd1_test
