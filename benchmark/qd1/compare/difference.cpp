// SPDX-License-Identifier: BSL-1.0
#include "compare/difference.hpp"

#include "statistics/midmean.hpp"
#include "units.hpp"

#include <boost/math/distributions/students_t.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t fewest_rounds = 5;

std::optional<double> figure_of(const round& round, std::string_view figure) {
  if (figure == "mean") return round.mean;
  if (figure == "iops") {
    const double rate = static_cast<double>(round.samples) / round.seconds;
    return std::isfinite(rate) ? std::optional(rate) : std::nullopt;
  }
  for (const round_percentile& each : round.quantiles)
    if (percentile_name(each.fraction) == figure) return each.ns;
  return std::nullopt;
}

// Operations at queue depth 1 leave the processor again and again, and wait a little each time when they come back.
bool was_disturbed(const round& round) {
  constexpr double much_waiting = 0.2;
  constexpr double much_stealing = 0.05;
  return round.disturbance.waited.value_or(0) > much_waiting || round.disturbance.stolen.value_or(0) > much_stealing;
}

// The logarithms of a figure, or of the ratio of two, round by round.
struct sample {
  std::vector<double> all;
  std::vector<double> undisturbed;

  void add(double logarithm, bool disturbed) {
    all.push_back(logarithm);
    if (!disturbed) undisturbed.push_back(logarithm);
  }
  // Enough of the run was its own.
  bool is_quiet() const { return undisturbed.size() >= std::max(fewest_rounds, (all.size() + 1) / 2); }
  location of(bool quiet) const { return midmean(quiet ? undisturbed : all); }
};

sample sample_of(const series& from, std::string_view figure) {
  sample found;
  for (const round& each : from.rounds)
    if (const auto value = figure_of(each, figure); value && *value > 0)
      found.add(std::log(*value), was_disturbed(each));
  return found;
}

// Of rounds that were measured one right after the other.
sample sample_of_pairs(const series& base, const series& now, std::string_view figure) {
  sample found;
  for (std::size_t each = 0; each < std::min(base.rounds.size(), now.rounds.size()); ++each) {
    const auto before = figure_of(base.rounds[each], figure);
    const auto after = figure_of(now.rounds[each], figure);
    if (before && after && *before > 0 && *after > 0)
      found.add(std::log(*after) - std::log(*before),
                was_disturbed(base.rounds[each]) || was_disturbed(now.rounds[each]));
  }
  return found;
}

struct logarithm_of_ratio {
  double value;
  double half;       // of the 95 % interval
  double surely_to;  // half of the 99 % interval

  logarithm_of_ratio(double by, double variance, double freedom) : value(by), half(0), surely_to(0) {
    if (variance <= 0) return;
    const boost::math::students_t t(freedom);
    half = quantile(t, 0.975) * std::sqrt(variance);
    surely_to = quantile(t, 0.995) * std::sqrt(variance);
  }
};

logarithm_of_ratio welch(const location& base, const location& now, double base_variance, double now_variance) {
  const double variance = base_variance + now_variance;
  const double freedom =
      variance * variance / (base_variance * base_variance / base.freedom + now_variance * now_variance / now.freedom);
  return {now.value - base.value, variance, freedom};
}

logarithm_of_ratio by_runs(const sample& base, const sample& now, bool quiet) {
  const location a = base.of(quiet);
  const location b = now.of(quiet);
  return quiet ? welch(a, b, a.variance, b.variance) : welch(a, b, a.single, b.single);
}

logarithm_of_ratio by_pairs(const sample& pairs, bool quiet) {
  const location found = pairs.of(quiet);
  return {found.value, quiet ? found.variance : found.single, found.freedom};
}

difference verdict_on(const logarithm_of_ratio& found, bool more_is_better) {
  const double size = std::abs(found.value);
  if (size >= std::log(negligible) && size > found.surely_to)
    return (found.value > 0) == more_is_better ? difference::faster : difference::slower;
  return size < std::log(negligible) && size + found.half < std::log(notable) ? difference::none
                                                                              : difference::inconclusive;
}

// By what a run has to become longer for the interval to become narrow enough, if rounds go on differing as they do.
std::string advice_on(const logarithm_of_ratio& found) {
  const double size = std::abs(found.value);
  const double to_be_surely_one = found.surely_to / size;
  const double to_be_surely_none = found.half / (std::log(notable) - std::min(size, std::log(negligible)));
  const double narrower = size >= std::log(negligible) ? to_be_surely_one : to_be_surely_none;
  const double factor = std::ceil(narrower * narrower);
  return fmt::format("the interval is too wide; {:.0f} times as many rounds of the same length might do",
                     std::max(2., factor));
}

}  // namespace

std::string_view name(difference found) {
  constexpr std::string_view names[] = {"no difference", "FASTER", "SLOWER", "inconclusive"};
  return names[static_cast<int>(found)];
}

finding compare(const series& base, const series& now, std::string_view figure) {
  const bool in_turn = !base.turns.empty() && base.turns == now.turns;
  const sample before = sample_of(base, figure);
  const sample after = sample_of(now, figure);
  const sample pairs = in_turn ? sample_of_pairs(base, now, figure) : sample();
  finding found;
  if (const std::size_t fewer = std::min(before.all.size(), after.all.size()); fewer < fewest_rounds) {
    found.remark = fmt::format("{} of the rounds of a run have samples enough; needed are {}", fewer, fewest_rounds);
    return found;
  }
  const bool paired = pairs.all.size() >= fewest_rounds;
  const bool quiet = paired ? pairs.is_quiet() : before.is_quiet() && after.is_quiet();
  const logarithm_of_ratio by = paired ? by_pairs(pairs, quiet) : by_runs(before, after, quiet);
  found.ratio = estimate{std::exp(by.value), interval{std::exp(by.value - by.half), std::exp(by.value + by.half)}};
  found.verdict = verdict_on(by, figure == "iops");
  const std::size_t disturbed_before = before.all.size() - before.undisturbed.size();
  const std::size_t disturbed_after = after.all.size() - after.undisturbed.size();
  if (disturbed_before + disturbed_after != 0)
    found.remark = fmt::format(
        "others had the processor in {} of {} and in {} of {} rounds{}", disturbed_before, before.all.size(),
        disturbed_after, after.all.size(),
        quiet ? ", which are left out" : ": the interval is that of single rounds; measure when they have gone");
  else if (found.verdict == difference::inconclusive)
    found.remark = advice_on(by);
  return found;
}

}  // namespace qd1
