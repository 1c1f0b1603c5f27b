// SPDX-License-Identifier: BSL-1.0
#include "compare/difference.hpp"

#include "compare/in_turn.hpp"
#include "figures.hpp"
#include "machine/differences.hpp"

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

std::vector<round_figure> chosen(const std::vector<round_figure>& all, const std::vector<round_pair>& pairs,
                                 std::size_t round_pair::*side) {
  std::vector<round_figure> found;
  found.reserve(pairs.size());
  for (const round_pair& each : pairs) found.push_back(all[each.*side]);
  return found;
}

decision compare_in_turn(const series& base, const series& now, const std::vector<round_pair>& pairs,
                         std::string_view figure, bool more_is_better) {
  return decide(chosen(figures_of(base, figure), pairs, &round_pair::base),
                chosen(figures_of(now, figure), pairs, &round_pair::now),
                {true, more_is_better, spread_factor(figure)});
}

void add_remark(decision& to, const std::string& text) {
  to.remark = to.remark.empty() ? text : to.remark + "; " + text;
}

// Both name the same file, as separate runs may.
std::string why_not_in_turn(const series& base, const series& now) {
  if (base.turns.empty() || base.turns != now.turns) return {};
  return fmt::format("both took turns by {}, but not with each other: their rounds do not alternate", base.turns);
}

bool hold_runs(const series& base, const series& now) {
  return std::min(repetitions(base), repetitions(now)) >= fewest_runs;
}

std::string why_not_by_runs(const series& base, const series& now) {
  const auto runs = [](const series& of) { return std::max<std::size_t>(repetitions(of), 1); };
  return fmt::format("decided by rounds, since the reports have {} and {} runs; deciding by runs needs {} in each",
                     runs(base), runs(now), fewest_runs);
}

}  // namespace

decision compare(const series& base, const series& now, std::string_view figure) {
  const qd1::figure* const known = figure_named(figure);
  const bool more_is_better = known != nullptr && known->more_is_better;
  if (const auto pairs = pairs_in_turn(base, now); !pairs.empty())
    return compare_in_turn(base, now, pairs, figure, more_is_better);
  const bool by_runs = hold_runs(base, now);
  decision found = by_runs ? decide_by_runs(figures_of_runs(base, figure), figures_of_runs(now, figure), more_is_better)
                           : decide(figures_of(base, figure), figures_of(now, figure),
                                    {false, more_is_better, spread_factor(figure)});
  if (const std::string reason = why_not_in_turn(base, now); !reason.empty()) add_remark(found, reason);
  if (!by_runs && (repetitions(base) != 0 || repetitions(now) != 0)) add_remark(found, why_not_by_runs(base, now));
  return found;
}

std::string why_not_comparable(const series& base, const series& now) {
  for (const series* each : {&base, &now}) {
    if (!each->invalid.empty()) return "a run is invalid: " + each->invalid.front();
    if (!each->measured()) return "not measured: " + each->not_available;
  }
  if (base.verification.result != now.verification.result)
    return "direct was verified in only one of the runs: " + base.verification.text + " / " + now.verification.text;
  if (!metric(base, "p50") || !metric(now, "p50")) return "too few samples";
  return {};
}

std::string why_not_comparable(const report& base, const report& now) {
  for (const machine_difference& each : differences(base.machine, now.machine))
    if (each.forbids) return "the environments differ too much: " + each.in_words();
  return {};
}

}  // namespace qd1
