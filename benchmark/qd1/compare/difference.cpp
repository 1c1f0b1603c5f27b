// SPDX-License-Identifier: BSL-1.0
#include "compare/difference.hpp"

#include "figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

namespace qd1 {
namespace {

// Operations at queue depth 1 leave the processor again and again, and wait a little each time when they come back.
bool was_disturbed(const round& round) {
  constexpr double much_waiting = 0.2;
  constexpr double much_stealing = 0.05;
  return round.disturbance.waited.value_or(0) > much_waiting || round.disturbance.stolen.value_or(0) > much_stealing;
}

// 0, which decisions ignore, where a round or a run does not have the figure.
template <class Part>
double figure_of(const Part& part, std::string_view figure) {
  const double found = metric(part, figure).value_or(0);
  return std::isfinite(found) ? found : 0;
}

std::vector<round_figure> figures_of(const series& from, std::string_view figure) {
  std::vector<round_figure> found;
  found.reserve(from.rounds.size());
  for (const round& each : from.rounds) found.push_back({figure_of(each, figure), each.processor, was_disturbed(each)});
  return found;
}

std::vector<double> figures_of_runs(const series& from, std::string_view figure) {
  std::vector<double> found;
  found.reserve(from.contributions.size());
  for (const contribution& each : from.contributions) found.push_back(figure_of(each, figure));
  return found;
}

bool hold_runs(const series& base, const series& now) {
  return std::min(repetitions(base), repetitions(now)) >= fewest_runs;
}

std::string why_not_by_runs(const series& base, const series& now) {
  const auto runs = [](const series& of) { return std::max<std::size_t>(repetitions(of), 1); };
  return fmt::format("decided by rounds, since the reports have {} and {} runs; by runs it takes {} in each",
                     runs(base), runs(now), fewest_runs);
}

}  // namespace

decision compare(const series& base, const series& now, std::string_view figure) {
  const bool in_turn = !base.turns.empty() && base.turns == now.turns;
  const qd1::figure* const known = figure_named(figure);
  const bool more_is_better = known != nullptr && known->more_is_better;
  if (!in_turn && hold_runs(base, now))
    return decide_by_runs(figures_of_runs(base, figure), figures_of_runs(now, figure), more_is_better);
  decision found = decide(figures_of(base, figure), figures_of(now, figure), in_turn, more_is_better);
  if (in_turn || (repetitions(base) == 0 && repetitions(now) == 0)) return found;
  const std::string reason = why_not_by_runs(base, now);
  found.remark = found.remark.empty() ? reason : found.remark + "; " + reason;
  return found;
}

}  // namespace qd1
