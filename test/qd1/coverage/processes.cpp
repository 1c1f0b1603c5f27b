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
  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    for (std::size_t each = 0; each < samples; ++each) to.record(typical + spread * random.normal());
  }
  double below(double logarithm) const override { return normal_below((logarithm - typical) / spread); }
  double mean() const override { return lognormal_mean(typical, spread); }

 private:
  static constexpr double spread = 0.3;
};

class pareto final : public process {
 public:
  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    for (std::size_t each = 0; each < samples; ++each) to.record(typical - std::log(random.uniform()) / shape);
  }
  double below(double logarithm) const override { return 1 - std::exp(-shape * std::max(0., logarithm - typical)); }
  double mean() const override { return std::exp(typical) * shape / (shape - 1); }

 private:
  static constexpr double shape = 1.5;
};

// A tenth of the samples misses a cache below.
class bimodal final : public process {
 public:
  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    for (std::size_t each = 0; each < samples; ++each)
      to.record((random.chance(missing) ? slow : typical) + spread * random.normal());
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
  autoregressive(random_source& random, double correlation) : correlation_(correlation), state_(random.normal()) {}

  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    const double innovation = std::sqrt(1 - correlation_ * correlation_);
    for (std::size_t each = 0; each < samples; ++each) {
      to.record(typical + spread * state_);
      state_ = correlation_ * state_ + innovation * random.normal();
    }
  }
  double below(double logarithm) const override { return normal_below((logarithm - typical) / spread); }
  double mean() const override { return lognormal_mean(typical, spread); }

 private:
  static constexpr double spread = 0.3;

  double correlation_;
  double state_;
};

// 60 us for three fifths of the time, else 90 us. `visit` is how long the faster one lasts on average.
class regimes final : public process {
 public:
  regimes(random_source& random, double visit) : visit_(visit), slow_(random.chance(1 - fast)) {}

  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    const double leave_fast = 1 / visit_;
    const double leave_slow = leave_fast * fast / (1 - fast);
    for (std::size_t each = 0; each < samples; ++each) {
      if (random.chance(slow_ ? leave_slow : leave_fast)) slow_ = !slow_;
      to.record((slow_ ? high : low) + spread * random.normal());
    }
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

// Each round has a level of its own.
class level_by_round final : public process {
 public:
  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    const double level = typical + of_rounds * random.normal();
    for (std::size_t each = 0; each < samples; ++each) to.record(level + spread * random.normal());
  }
  double below(double logarithm) const override { return normal_below((logarithm - typical) / total()); }
  double mean() const override { return lognormal_mean(typical, total()); }

 private:
  static constexpr double of_rounds = 0.03;
  static constexpr double spread = 0.1;
  static double total() { return std::sqrt(of_rounds * of_rounds + spread * spread); }
};

// The level wanders, and one sample in 1,000 takes 20 times as long. `memory` is how many rounds the level remembers.
class drifting final : public process {
 public:
  drifting(random_source& random, double memory) : memory_(memory), state_(random.normal()) {}

  void add_round(random_source& random, std::size_t samples, round_counter& to) override {
    const double correlation = std::exp(-1 / (memory_ * parts));
    const double innovation = std::sqrt(1 - correlation * correlation);
    for (std::size_t each = 0; each < samples; ++each) {
      if (each % (samples / parts) == 0) state_ = correlation * state_ + innovation * random.normal();
      const double outlier = random.chance(outliers) ? far : 0;
      to.record(typical + of_level * state_ + spread * random.normal() + outlier);
    }
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

  double memory_;
  double state_;
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
      {"rounds differ by 3 %", expected::given, [](source&) -> started { return std::make_unique<level_by_round>(); }},
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
      {"independent, lognormal, 5,000 a round", expected::given,
       [](source&) -> started { return std::make_unique<independent_lognormal>(); }, 5'000},
      {"independent, Pareto 1.5, 5,000 a round", expected::given,
       [](source&) -> started { return std::make_unique<pareto>(); }, 5'000},
  };
  return kinds;
}

}  // namespace qd1_test
