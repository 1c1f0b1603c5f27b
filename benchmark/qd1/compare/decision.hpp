// SPDX-License-Identifier: BSL-1.0
// Whether two runs differ, decided from one figure of each of their rounds.
#pragma once

#include "report.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace qd1 {

/// Less than this is no difference: runs of the same thing differ by a few percent, whatever their rounds show.
constexpr double negligible = 1.05;
/// A difference of this size must be found: an interval that is too wide for it is inconclusive.
constexpr double notable = 1.10;

enum class difference : std::uint8_t { none, faster, slower, inconclusive };

std::string_view name(difference found);

/// A figure of one round: its median, say.
struct round_figure {
  double value = 0;  ///< more than 0
  std::optional<std::uint64_t> processor;
  bool disturbed = false;  ///< others had the CPU
};

struct decision {
  difference verdict = difference::inconclusive;
  /// What the ratio was made of. Print these beside it, not the figures of the runs as a whole.
  double base = 0;
  double now = 0;
  std::optional<estimate> ratio;                ///< now / base; none: too few rounds
  std::optional<std::uint64_t> rounds_needed;   ///< inconclusive: of each run, for a verdict
  std::optional<std::uint64_t> repeats_needed;  ///< inconclusive: not rounds, but this many runs of each would help
  std::string remark;                           ///< why it is inconclusive, and what was left out
  std::string missing;                          ///< how many rounds or runs lack the figure; empty: none
  std::size_t base_runs = 0, now_runs = 0;      ///< the numbers of runs that decided it; 0: rounds did
  double spread = 0;                            ///< by rounds: the assumed spread of runs, as a fraction
  /// That the same thing, measured twice, differs by as much: at most. 1: there is no ratio.
  double chance = 1;

  /// The 95 % interval of the ratio does not contain 1.
  bool differs() const { return ratio && (ratio->interval->low > 1 || ratio->interval->high < 1); }
};

/// Whether the interval says so little that the factor must not be printed: there is none, or it contains 1 and its
/// ends are more than a factor of 10 apart.
bool is_too_variable(const estimate& ratio);

/// name() of the verdict, "inconclusive, too variable to compare", or "differs, by less than 5 %" if there is a
/// difference that is too small for a verdict.
std::string verdict_text(const decision& found);

/// Among many verdicts, some would be wrong by chance. Those of FASTER and SLOWER that are not certain enough for their
/// number become inconclusive, so that all that remain are right with 95 % together (S. Holm, Scandinavian Journal of
/// Statistics 6, 1979). Those without a ratio do not count.
void allow_for_many(std::span<decision* const> all);

/// The least number of runs of each side for decide_by_runs().
constexpr std::size_t fewest_runs = 3;

/// Runs of the same thing differ by more than their rounds show: by 3 % in the middle (a standard deviation), we
/// assume, and by 1 % if they took turns. Measure it with repeated runs instead where you can.
constexpr double run_spread = 0.03;
constexpr double run_spread_in_turns = 0.01;

/// How many times as much a figure differs, as pairs of runs of the same thing showed (test/qd1/tell_apart): "p99.9".
double spread_factor(std::string_view figure);

/// What decide() has to know of the figure.
struct decision_terms {
  bool in_turn = false;         ///< round by round, each beside the other's
  bool more_is_better = false;  ///< of operations a second
  double spread_factor = 1;     ///< see above
};

/// Rounds are compared within their CPU, if the CPUs of all rounds are known: CPUs may differ by more than the runs do.
/// The logarithms of each run are averaged over their middle half (midmean), whose variance allows for rounds that
/// depend on one another. The interval of the ratio (95 %) adds the spread of runs. Where neighboring rounds of a run
/// are so much alike that independent ones would be once in 50 times, or stay on one of two levels for several rounds,
/// the run may have been anywhere within their range: the interval is at least as wide as that range.
///
/// faster, slower: by at least 5 %, and the interval does not contain 1. none: the whole interval is within 10 %, so a
/// difference of a tenth would have been seen. Else inconclusive.
///
/// A round that lacks the figure has too few samples, and may be a slow one. If more than one in twenty do, there is no
/// verdict.
///
decision decide(std::span<const round_figure> base, std::span<const round_figure> now,
                const decision_terms& terms = {});

/// The same from a figure of each of several runs on either side, at least three, whose spread is measured and not
/// assumed. faster, slower: even the interval of 99 % does not contain 1. No verdict if a run lacks the figure.
decision decide_by_runs(std::span<const double> base, std::span<const double> now, bool more_is_better = false);

}  // namespace qd1
