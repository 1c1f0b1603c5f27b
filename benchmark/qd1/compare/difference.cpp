// SPDX-License-Identifier: BSL-1.0
#include "compare/difference.hpp"

#include "units.hpp"

#include <cmath>
#include <vector>

namespace qd1 {
namespace {

// 0, which decide() ignores, if the round does not have the figure.
double figure_of(const round& round, std::string_view figure) {
  if (figure == "mean") return round.mean;
  if (figure == "iops") {
    const double rate = static_cast<double>(round.samples) / round.seconds;
    return std::isfinite(rate) ? rate : 0;
  }
  for (const round_percentile& each : round.quantiles)
    if (percentile_name(each.fraction) == figure) return each.ns;
  return 0;
}

// Operations at queue depth 1 leave the processor again and again, and wait a little each time when they come back.
bool was_disturbed(const round& round) {
  constexpr double much_waiting = 0.2;
  constexpr double much_stealing = 0.05;
  return round.disturbance.waited.value_or(0) > much_waiting || round.disturbance.stolen.value_or(0) > much_stealing;
}

std::vector<round_figure> figures_of(const series& from, std::string_view figure) {
  std::vector<round_figure> found;
  found.reserve(from.rounds.size());
  for (const round& each : from.rounds) found.push_back({figure_of(each, figure), each.processor, was_disturbed(each)});
  return found;
}

}  // namespace

decision compare(const series& base, const series& now, std::string_view figure) {
  const bool in_turn = !base.turns.empty() && base.turns == now.turns;
  return decide(figures_of(base, figure), figures_of(now, figure), in_turn, figure == "iops");
}

}  // namespace qd1
