// SPDX-License-Identifier: BSL-1.0
#include "processes.hpp"

#include <algorithm>

namespace qd1_test {
namespace {

const double typical = std::log(50'000.);  // 50 us

double normal_below(double value) { return std::erfc(-value / std::sqrt(2.)) / 2; }
double lognormal_mean(double center, double spread) { return std::exp(center + spread * spread / 2); }

class independent_lognormal final : public process {
 public:
  double next(random_source& random) override { return typical + spread * random.normal(); }
  double below(double logarithm) const override { return normal_below((logarithm - typical) / spread); }
  double mean() const override { return lognormal_mean(typical, spread); }

 private:
  static constexpr double spread = 0.3;
};

class pareto final : public process {
 public:
  double next(random_source& random) override { return typical - std::log(random.uniform()) / shape; }
  double below(double logarithm) const override { return 1 - std::exp(-shape * std::max(0., logarithm - typical)); }
  double mean() const override { return std::exp(typical) * shape / (shape - 1); }

 private:
  static constexpr double shape = 1.5;
};

// A tenth of the samples misses a cache below.
class bimodal final : public process {
 public:
  double next(random_source& random) override {
    return (random.chance(missing) ? slow : typical) + spread * random.normal();
  }
  double below(double logarithm) const override {
    return (1 - missing) * normal_below((logarithm - typical) / spread) +
           missing * normal_below((logarithm - slow) / spread);
  }
  double mean() const override {
    return (1 - missing) * lognormal_mean(typical, spread) + missing * lognormal_mean(slow, spread);
  }

 private:
  static constexpr double missing = 0.1;
  static constexpr double spread = 0.15;
  const double slow = std::log(200'000.);
};

class autoregressive final : public process {
 public:
  autoregressive(random_source& random, double correlation)
      : correlation_(correlation), innovation_(std::sqrt(1 - correlation * correlation)), state_(random.normal()) {}

  double next(random_source& random) override {
    const double found = typical + spread * state_;
    state_ = correlation_ * state_ + innovation_ * random.normal();
    return found;
  }
  double below(double logarithm) const override { return normal_below((logarithm - typical) / spread); }
  double mean() const override { return lognormal_mean(typical, spread); }

 private:
  static constexpr double spread = 0.3;

  double correlation_;
  double innovation_;
  double state_;
};

// 60 us for three fifths of the time, else 90 us. `visit` is how long the faster one lasts on average.
class regimes final : public process {
 public:
  regimes(random_source& random, double visit) : visit_(visit), slow_(random.chance(1 - fast)) {}

  double next(random_source& random) override {
    const double leave_fast = 1 / visit_;
    if (random.chance(slow_ ? leave_fast * fast / (1 - fast) : leave_fast)) slow_ = !slow_;
    return (slow_ ? high : low) + spread * random.normal();
  }
  double below(double logarithm) const override {
    return fast * normal_below((logarithm - low) / spread) + (1 - fast) * normal_below((logarithm - high) / spread);
  }
  double mean() const override {
    return fast * lognormal_mean(low, spread) + (1 - fast) * lognormal_mean(high, spread);
  }

 private:
  static constexpr double fast = 0.6;
  static constexpr double spread = 0.05;
  const double low = std::log(60'000.);
  const double high = std::log(90'000.);
  double visit_;
  bool slow_;
};

// Each round has a level of its own. Rounds of the same length in time have the fewer samples the slower they are.
class level_by_round final : public process {
 public:
  level_by_round(double of_rounds, bool timed)
      : of_rounds_(of_rounds), center_(typical - (timed ? of_rounds * of_rounds : 0)) {}

  void begin_round(random_source& random) override { level_ = typical + of_rounds_ * random.normal(); }
  double next(random_source& random) override { return level_ + spread * random.normal(); }
  double below(double logarithm) const override { return normal_below((logarithm - center_) / total()); }
  double mean() const override { return lognormal_mean(center_, total()); }

 private:
  static constexpr double spread = 0.1;
  double total() const { return std::sqrt(of_rounds_ * of_rounds_ + spread * spread); }

  double of_rounds_;
  double center_;
  double level_ = 0;
};

// Reads of 80 us, and once a second a pause of 0.3 s, which one of them waits for.
class hiccups final : public process {
 public:
  double next(random_source& random) override {
    return random.chance(pauses) ? pause : usual + spread * random.normal();
  }
  double below(double logarithm) const override {
    return (1 - pauses) * normal_below((logarithm - usual) / spread) + (logarithm >= pause ? pauses : 0);
  }
  double mean() const override { return (1 - pauses) * lognormal_mean(usual, spread) + pauses * std::exp(pause); }

 private:
  static constexpr double spread = 0.1;
  static constexpr double pauses = 80e-6;
  const double usual = std::log(80'000.);
  const double pause = std::log(0.3e9);
};

// The level wanders, and one sample in 1,000 takes 20 times as long. `memory` is how many rounds the level remembers.
class drifting final : public process {
 public:
  drifting(random_source& random, double memory)
      : correlation_(std::exp(-1 / (memory * parts))),
        innovation_(std::sqrt(1 - correlation_ * correlation_)),
        state_(random.normal()) {}

  double next(random_source& random) override {
    if (count_++ % (1'000 / parts) == 0) state_ = correlation_ * state_ + innovation_ * random.normal();
    const double outlier = random.chance(outliers) ? far : 0;
    return typical + of_level * state_ + spread * random.normal() + outlier;
  }
  double below(double logarithm) const override {
    const double total = std::sqrt(of_level * of_level + spread * spread);
    return (1 - outliers) * normal_below((logarithm - typical) / total) +
           outliers * normal_below((logarithm - typical - far) / total);
  }
  double mean() const override {
    const double total = std::sqrt(of_level * of_level + spread * spread);
    return (1 - outliers) * lognormal_mean(typical, total) + outliers * lognormal_mean(typical + far, total);
  }

 private:
  static constexpr std::size_t parts = 10;  // of a round
  static constexpr double of_level = 0.05;
  static constexpr double spread = 0.1;
  static constexpr double outliers = 0.001;
  const double far = std::log(20.);

  double correlation_;
  double innovation_;
  double state_;
  std::size_t count_ = 0;
};

}  // namespace

void round_counter::record(double logarithm) noexcept {
  const auto at = static_cast<std::size_t>(std::clamp((logarithm - first) / width, 0., bins - 1.));
  ++counts_[at];
  lowest_ = std::min(lowest_, at);
  highest_ = std::max(highest_, at);
}

qd1::sampled_round round_counter::take() {
  if (ns_.empty())
    for (std::size_t each = 0; each < bins; ++each)
      ns_.push_back(std::exp(first + (static_cast<double>(each) + 0.5) * width));
  qd1::sampled_round found;
  double samples = 0;
  double sum = 0;
  for (std::size_t each = lowest_; each <= highest_; ++each) {
    if (counts_[each] == 0) continue;
    found.bins.push_back({ns_[each], counts_[each]});
    samples += counts_[each];
    sum += ns_[each] * counts_[each];
    counts_[each] = 0;
  }
  found.mean = sum / samples;
  lowest_ = bins;
  highest_ = 0;
  return found;
}

void process::add_round(random_source& random, const round_length& length, round_counter& to) {
  begin_round(random);
  double seconds = 0;
  for (std::size_t each = 0; length.seconds > 0 ? seconds < length.seconds : each < length.samples; ++each) {
    const double logarithm = next(random);
    to.record(logarithm);
    if (length.seconds > 0) seconds += std::exp(logarithm) * 1e-9;
  }
}

double process::quantile(double fraction) const {
  double low = 0;
  double high = 40;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (below(middle) < fraction ? low : high) = middle;
  }
  return std::exp(low);
}

const std::vector<process_kind>& process_kinds() {
  using source = random_source;
  using started = std::unique_ptr<process>;
  static const std::vector<process_kind> kinds = {
      {"independent, lognormal", expected::given,
       [](source&) -> started { return std::make_unique<independent_lognormal>(); }},
      {"independent, Pareto 1.5", expected::given, [](source&) -> started { return std::make_unique<pareto>(); }},
      {"independent, bimodal", expected::given, [](source&) -> started { return std::make_unique<bimodal>(); }},
      {"AR(0.9)", expected::given,
       [](source& random) -> started { return std::make_unique<autoregressive>(random, 0.9); }},
      {"AR(0.99)", expected::open,
       [](source& random) -> started { return std::make_unique<autoregressive>(random, 0.99); }},
      {"AR(0.999)", expected::lasting,
       [](source& random) -> started { return std::make_unique<autoregressive>(random, 0.999); }},
      {"AR(0.9999)", expected::lasting,
       [](source& random) -> started { return std::make_unique<autoregressive>(random, 0.9999); }},
      {"AR(0.9999), 3,000 a round",
       expected::lasting,
       [](source& random) -> started { return std::make_unique<autoregressive>(random, 0.9999); },
       {3'000}},
      {"rounds differ by 3 %", expected::given,
       [](source&) -> started { return std::make_unique<level_by_round>(0.03, false); }},
      {"rounds of 50 ms differ by 30 %",
       expected::open,
       [](source&) -> started { return std::make_unique<level_by_round>(0.3, true); },
       {0, 0.05}},
      {"pauses of 0.3 s, rounds of 0.25 s",
       expected::open,
       [](source&) -> started { return std::make_unique<hiccups>(); },
       {0, 0.25}},
      {"levels of 60 and 90 µs, each for 0.1 rounds", expected::open,
       [](source& random) -> started { return std::make_unique<regimes>(random, 100); }},
      {"levels of 60 and 90 µs, each for 1 round", expected::open,
       [](source& random) -> started { return std::make_unique<regimes>(random, 1'000); }},
      {"levels of 60 and 90 µs, each for 5 rounds", expected::lasting,
       [](source& random) -> started { return std::make_unique<regimes>(random, 5'000); }},
      {"drift over 1 round, 0.1 % outliers", expected::open,
       [](source& random) -> started { return std::make_unique<drifting>(random, 1); }},
      {"drift over 5 rounds, 0.1 % outliers", expected::lasting,
       [](source& random) -> started { return std::make_unique<drifting>(random, 5); }},
      {"independent, lognormal, 5,000 a round",
       expected::given,
       [](source&) -> started { return std::make_unique<independent_lognormal>(); },
       {5'000}},
      {"independent, Pareto 1.5, 5,000 a round",
       expected::given,
       [](source&) -> started { return std::make_unique<pareto>(); },
       {5'000}},
  };
  return kinds;
}

}  // namespace qd1_test
