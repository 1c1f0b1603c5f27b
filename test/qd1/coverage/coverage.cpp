// SPDX-License-Identifier: BSL-1.0
#include "coverage.hpp"

#include "statistics/monotone.hpp"

#include <algorithm>
#include <utility>

namespace qd1_test {
namespace {

// A cell while its repetitions go on.
struct open_cell {
  cell found;
  double fraction;  // of the percentile; 0: the mean
  double truth;
  std::vector<double> estimates;
  double widths = 0;

  void add(const qd1::estimate& of) {
    ++found.repetitions;
    estimates.push_back(of.value);
    if (!of.interval) return;
    const auto [low, high] = *of.interval;
    ++found.given;
    found.low += high < truth;
    found.high += low > truth;
    widths += high - low;
  }

  cell closed() {
    std::sort(estimates.begin(), estimates.end());
    const auto at = [&](double part) {
      return estimates[static_cast<std::size_t>(part * static_cast<double>(estimates.size() - 1))];
    };
    found.width = found.given == 0 ? 0 : widths / static_cast<double>(found.given) / (at(0.975) - at(0.025));
    return std::move(found);
  }
};

// As a run prints them.
std::vector<qd1::percentile> percentiles_of(const qd1::pooled_rounds& rounds) {
  std::vector<qd1::percentile> found;
  for (const double fraction : {0.5, 0.99, 0.999}) found.push_back({fraction, 0, rounds.quantile(fraction)});
  qd1::make_monotone(found);
  return found;
}

const qd1::estimate& value_at(const std::vector<qd1::percentile>& all, double fraction) {
  return *std::ranges::find(all, fraction, &qd1::percentile::fraction)->value;
}

constexpr std::size_t round_counts[] = {8, 20, 50};

}  // namespace

std::vector<cell> cells_of(const process_kind& kind, std::size_t repetitions, std::uint64_t seed) {
  random_source random(seed);
  round_counter counter;
  std::vector<open_cell> cells;
  const auto truth = kind.start(random);
  const bool large = kind.round.samples >= 5'000;
  for (const std::size_t rounds : round_counts)
    for (const auto& [figure, fraction] : {std::pair("p50", 0.5), {"p99", 0.99}, {"p99.9", 0.999}, {"mean", 0.}}) {
      if (large != (fraction == 0.999)) continue;
      cell found;
      found.figure = figure;
      found.rounds = rounds;
      cells.push_back({found, fraction, fraction == 0 ? truth->mean() : truth->quantile(fraction), {}});
    }
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    const auto process = kind.start(random);
    std::vector<qd1::sampled_round> rounds;
    for (const std::size_t count : round_counts) {
      if (large && count > 20) continue;
      while (rounds.size() < count) {
        process->add_round(random, kind.round, counter);
        rounds.push_back(counter.take());
      }
      const qd1::pooled_rounds together(rounds);
      const std::vector<qd1::percentile> percentiles = percentiles_of(together);
      for (open_cell& each : cells)
        if (each.found.rounds == count)
          each.add(each.fraction == 0 ? together.mean() : value_at(percentiles, each.fraction));
    }
  }
  std::vector<cell> found;
  for (open_cell& each : cells)
    if (!each.estimates.empty()) found.push_back(each.closed());
  return found;
}

}  // namespace qd1_test
