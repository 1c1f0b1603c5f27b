// SPDX-License-Identifier: BSL-1.0
#include "compare/decision.hpp"

#include "figures.hpp"
#include "statistics/distributions.hpp"
#include "statistics/levels.hpp"
#include "statistics/midmean.hpp"
#include "statistics/serial_mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t fewest_rounds = 5;

// In the order of time, with the logarithm of the value.
struct point {
  double logarithm;
  std::optional<std::uint64_t> processor;
  bool disturbed;
};
using points = std::vector<point>;

points points_of(std::span<const round_figure> rounds) {
  points found;
  for (const round_figure& each : rounds)
    if (each.value > 0 && std::isfinite(each.value))
      found.push_back({std::log(each.value), each.processor, each.disturbed});
  return found;
}

points undisturbed(const points& all) {
  points found;
  std::copy_if(all.begin(), all.end(), std::back_inserter(found), [](const point& each) { return !each.disturbed; });
  return found;
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// What a CPU adds to rounds that run on it, less what CPUs add on average. Empty: it cannot be told.
std::map<std::uint64_t, double> processor_effects(const points& base, const points& now) {
  std::map<std::uint64_t, std::pair<std::vector<double>, std::vector<double>>> by_processor;
  for (const point& each : base)
    if (each.processor) by_processor[*each.processor].first.push_back(each.logarithm);
  for (const point& each : now)
    if (each.processor) by_processor[*each.processor].second.push_back(each.logarithm);
  const auto is_known = [](const point& each) { return each.processor.has_value(); };
  if (by_processor.size() < 2 || !std::all_of(base.begin(), base.end(), is_known) ||
      !std::all_of(now.begin(), now.end(), is_known))
    return {};
  std::map<std::uint64_t, double> effects;
  double sum = 0;
  for (const auto& [processor, values] : by_processor) {
    if (values.first.empty() || values.second.empty()) return {};
    sum += effects[processor] = (median(values.first) + median(values.second)) / 2;
  }
  for (auto& [_, effect] : effects) effect -= sum / static_cast<double>(effects.size());
  return effects;
}

// A run, less what its CPUs add.
struct side {
  std::vector<double> values;
  location at;
  double lost;   // by how much the variance of `values` is larger than it seems, since CPUs' effects were estimated
  double range;  // of rounds that depend on one another; 0: they do not

  side(const points& from, const std::map<std::uint64_t, double>& effects) {
    for (const point& each : from)
      values.push_back(each.logarithm - (effects.empty() ? 0 : effects.at(*each.processor)));
    at = midmean(values);
    const auto count = static_cast<double>(values.size());
    lost = effects.empty() ? 1 : count / (count - static_cast<double>(effects.size()) / 2);
    range = depend_on_one_another() ? spread() : 0;
  }

  double variance(bool quiet) const { return lost * (quiet ? at.variance : at.single); }

 private:
  double spread() const {
    const auto [least, most] = std::minmax_element(values.begin(), values.end());
    return *most - *least;
  }
  bool depend_on_one_another() const {
    if (mean_in_order(values).suspect) return true;
    std::vector<double> ratios;
    ratios.reserve(values.size());
    for (const double each : values) ratios.push_back(std::exp(each));
    const auto found = two_levels(ratios);
    return found && found->lasting;
  }
};

// What a decision is made of.
struct evidence {
  double size;           // the logarithm of the ratio
  double of_rounds;      // its variance, by the rounds
  double of_runs;        // … by what runs differ
  double freedom;        // degrees of it, of `of_rounds`
  double least_half;     // of the interval
  std::size_t measured;  // rounds of the shorter run

  double variance() const { return of_rounds + of_runs; }
  // By Satterthwaite; how runs differ is assumed, not estimated.
  double degrees() const {
    return of_rounds <= 0 ? 1e6 : std::min(1e6, freedom * variance() * variance() / (of_rounds * of_rounds));
  }
  double half() const {
    if (variance() <= 0) return least_half;
    return std::max(least_half, student_t_quantile(degrees(), 0.975) * std::sqrt(variance()));
  }
  double chance() const {
    if (std::abs(size) <= least_half) return 1;
    return variance() <= 0 ? 0 : student_t_beyond(degrees(), size / std::sqrt(variance()));
  }
};

difference verdict_on(double size, double half, bool more_is_better) {
  if (std::abs(size) >= std::log(negligible) && std::abs(size) > half)
    return (size > 0) == more_is_better ? difference::faster : difference::slower;
  return std::abs(size) + half < std::log(notable) ? difference::none : difference::inconclusive;
}

// How wide the interval may be for a verdict, whichever is nearer.
double half_wanted(double size) {
  return std::abs(size) >= std::log(negligible) ? std::abs(size) : std::log(notable) - std::abs(size);
}

std::uint64_t rounded_up(double count) { return static_cast<std::uint64_t>(std::ceil(std::min(count, 1e6))); }

// Rounds narrow the interval down to what runs differ; from there on it takes runs.
void advise(decision& to, const evidence& found) {
  constexpr double normal = 1.96;
  const double wanted = half_wanted(found.size) / normal;
  // What of_rounds may be. Where that cannot be, a quarter of what runs differ hardly matters beside it.
  const double left = std::max(wanted * wanted - found.of_runs, found.of_runs / 4);
  if (found.least_half > half_wanted(found.size)) {
    to.repeats_needed = 5;
    to.remark =
        fmt::format("the rounds of a run depend on one another; {} runs of each might decide", *to.repeats_needed);
  } else if (found.of_rounds > left) {
    const double factor = std::max(1.1, found.of_rounds / left);
    to.rounds_needed = rounded_up(factor * static_cast<double>(found.measured));
    to.remark = fmt::format("the interval is too wide; {} rounds of the same length might decide", *to.rounds_needed);
  } else {
    const double runs = (found.of_runs + found.of_rounds) / (wanted * wanted);
    to.repeats_needed = std::max<std::uint64_t>(5, rounded_up(runs) + 2);  // few runs know little of their spread
    to.remark =
        fmt::format("runs of the same thing may differ by that much; {} runs of each might decide", *to.repeats_needed);
  }
}

decision decided(const evidence& found, double base, double now, bool more_is_better) {
  const double half = found.half();
  decision out;
  out.base = std::exp(base);
  out.now = std::exp(now);
  out.ratio = estimate{out.now / out.base, interval{std::exp(found.size - half), std::exp(found.size + half)}};
  out.chance = found.chance();
  out.verdict = verdict_on(found.size, half, more_is_better);
  if (out.verdict == difference::inconclusive) advise(out, found);
  return out;
}

bool is_enough(std::size_t left, std::size_t all) { return left >= std::max(fewest_rounds, (all + 1) / 2); }

std::string left_out(std::size_t base, std::size_t all_base, std::size_t now, std::size_t all_now, bool quiet) {
  return fmt::format(
      "others had the CPU in {} of {} and in {} of {} rounds{}", base, all_base, now, all_now,
      quiet ? ", which are left out" : ": the interval is that of single rounds; measure when the host is quiet");
}

// "3 of 20 and 0 of 20 rounds"; empty if none lacks the figure.
std::string missing_of(std::size_t base, std::size_t all_base, std::size_t now, std::size_t all_now,
                       std::string_view parts) {
  if (base + now == 0) return {};
  return fmt::format("{} of {} and {} of {} {} lack it", base, all_base, now, all_now, parts);
}

bool lack_many(std::size_t missing, std::size_t all) {
  constexpr std::size_t very_few = 20;  // one in so many
  return missing * very_few > all;
}

// What is missing may be what was slow.
decision without_verdict(std::string missing, std::string_view advice) {
  decision none;
  none.missing = std::move(missing);
  none.remark =
      fmt::format("no verdict: {}, since they have too few samples, as slow ones do; {}", none.missing, advice);
  return none;
}

decision by_runs(const points& base, const points& now, bool quiet, const decision_terms& terms) {
  const auto effects = processor_effects(base, now);
  const side before(base, effects);
  const side after(now, effects);
  const double a = before.variance(quiet);
  const double b = after.variance(quiet);
  const double weight = a * a / before.at.freedom + b * b / after.at.freedom;
  const double spread = run_spread * terms.spread_factor;
  const evidence found{after.at.value - before.at.value,
                       a + b,
                       2 * spread * spread,
                       weight <= 0 ? 1e6 : (a + b) * (a + b) / weight,
                       before.range + after.range,
                       std::min(base.size(), now.size())};
  return decided(found, before.at.value, after.at.value, terms.more_is_better);
}

// Each point is the ratio of two rounds. The sides are the geometric middle of both, apart by their ratio.
decision by_pairs(const points& ratios, double level, bool quiet, const decision_terms& terms) {
  const side pairs(ratios, {});
  const double spread = run_spread_in_turns * terms.spread_factor;
  const evidence found{pairs.at.value,   pairs.variance(quiet), 2 * spread * spread,
                       pairs.at.freedom, pairs.range,           ratios.size()};
  return decided(found, level - found.size / 2, level + found.size / 2, terms.more_is_better);
}

}  // namespace

std::string_view name(difference found) {
  constexpr std::string_view names[] = {"no difference", "FASTER", "SLOWER", "inconclusive"};
  return names[static_cast<int>(found)];
}

bool is_too_variable(const estimate& ratio) {
  constexpr double widest = 10;
  if (!ratio.interval) return true;
  const auto [low, high] = *ratio.interval;
  return low <= 1 && high >= 1 && high > widest * low;
}

std::string verdict_text(const decision& found) {
  if (found.verdict == difference::inconclusive && found.ratio && is_too_variable(*found.ratio))
    return "inconclusive, too variable to compare";
  if (found.verdict == difference::none && found.differs())
    return fmt::format("differs, by less than {:.0f} %", (negligible - 1) * 100);
  return std::string(name(found.verdict));
}

void allow_for_many(std::span<decision* const> all) {
  constexpr double wrong = 0.05;
  std::vector<decision*> sorted;
  for (decision* each : all)
    if (each->ratio) sorted.push_back(each);
  std::ranges::stable_sort(sorted, {}, &decision::chance);
  bool certain = true;
  for (std::size_t each = 0; each < sorted.size(); ++each) {
    decision& of = *sorted[each];
    certain = certain && of.chance <= wrong / static_cast<double>(sorted.size() - each);
    if (certain || (of.verdict != difference::faster && of.verdict != difference::slower)) continue;
    of.verdict = difference::inconclusive;
    of.repeats_needed = std::max<std::uint64_t>(5, 2 * std::max(of.base_runs, of.now_runs));
    const std::string reason =
        fmt::format("one of {} verdicts, some of which differ by chance; {} runs of each might decide", sorted.size(),
                    *of.repeats_needed);
    of.remark = of.remark.empty() ? reason : reason + "; " + of.remark;
  }
}

double spread_factor(std::string_view figure) {
  const auto fraction = percentile_named(figure);
  if (!fraction) return 2;  // means and rates
  return *fraction >= 0.999 ? 10 : *fraction >= 0.99 ? 4 : *fraction >= 0.9 ? 2 : 1;
}

decision decide(std::span<const round_figure> base, std::span<const round_figure> now, const decision_terms& terms) {
  const points before = points_of(base);
  const points after = points_of(now);
  const std::size_t missing_before = base.size() - before.size();
  const std::size_t missing_after = now.size() - after.size();
  std::string missing = missing_of(missing_before, base.size(), missing_after, now.size(), "rounds");
  if (const std::size_t fewer = std::min(before.size(), after.size()); fewer < fewest_rounds) {
    decision none;
    none.missing = std::move(missing);
    none.rounds_needed = fewest_rounds;
    none.remark = fmt::format("only {} rounds of a run have enough samples; {} are needed", fewer, fewest_rounds);
    return none;
  }
  if (lack_many(missing_before, base.size()) || lack_many(missing_after, now.size()))
    return without_verdict(std::move(missing), "fewer and longer rounds might decide");
  const points quiet_before = undisturbed(before);
  const points quiet_after = undisturbed(after);
  points pairs;
  std::vector<double> levels;
  for (std::size_t each = 0; terms.in_turn && each < std::min(base.size(), now.size()); ++each)
    if (const double factor = std::log(now[each].value / base[each].value);
        base[each].value > 0 && now[each].value > 0 && std::isfinite(factor)) {
      pairs.push_back({factor, std::nullopt, base[each].disturbed || now[each].disturbed});
      levels.push_back((std::log(now[each].value) + std::log(base[each].value)) / 2);
    }
  decision found;
  bool quiet;
  if (pairs.size() >= fewest_rounds) {
    const points quiet_pairs = undisturbed(pairs);
    quiet = is_enough(quiet_pairs.size(), pairs.size());
    found = by_pairs(quiet ? quiet_pairs : pairs, midmean(levels).value, quiet, terms);
  } else {
    quiet = is_enough(quiet_before.size(), before.size()) && is_enough(quiet_after.size(), after.size());
    found = by_runs(quiet ? quiet_before : before, quiet ? quiet_after : after, quiet, terms);
  }
  found.spread = (pairs.size() >= fewest_rounds ? run_spread_in_turns : run_spread) * terms.spread_factor;
  if (!missing.empty()) found.remark = found.remark.empty() ? missing : missing + "; " + found.remark;
  found.missing = std::move(missing);
  const std::size_t left_before = before.size() - quiet_before.size();
  const std::size_t left_after = after.size() - quiet_after.size();
  if (left_before + left_after != 0) {
    const std::string left = left_out(left_before, before.size(), left_after, after.size(), quiet);
    found.remark = found.remark.empty() ? left : left + "; " + found.remark;
  }
  return found;
}

decision decide_by_runs(std::span<const double> base, std::span<const double> now, bool more_is_better) {
  const auto logarithms = [](std::span<const double> values) {
    std::vector<double> found;
    for (const double each : values)
      if (each > 0 && std::isfinite(each)) found.push_back(std::log(each));
    return found;
  };
  const std::vector<double> before = logarithms(base);
  const std::vector<double> after = logarithms(now);
  if (const std::size_t fewer = std::min(before.size(), after.size()); fewer < fewest_runs) {
    decision none;
    none.base_runs = before.size();
    none.now_runs = after.size();
    none.repeats_needed = fewest_runs;
    none.remark = fmt::format("only {} runs of one side have the figure; {} are needed", fewer, fewest_runs);
    return none;
  }
  if (before.size() < base.size() || after.size() < now.size()) {
    decision none = without_verdict(
        missing_of(base.size() - before.size(), base.size(), now.size() - after.size(), now.size(), "runs"),
        "longer runs might decide");
    none.base_runs = before.size();
    none.now_runs = after.size();
    return none;
  }
  const serial_mean a = plain_mean(before);
  const serial_mean b = plain_mean(after);
  const double variance = a.variance + b.variance;
  const double weight = a.variance * a.variance / a.freedom + b.variance * b.variance / b.freedom;
  const double freedom = weight <= 0 ? 1e6 : variance * variance / weight;
  const double size = b.value - a.value;
  // Five runs or so: a chance of 5 % would be one verdict in twenty, so a verdict takes 99 %.
  const auto half_of = [&](double quantile_of) {
    return variance <= 0 ? 0 : student_t_quantile(freedom, quantile_of) * std::sqrt(variance);
  };
  const double half = half_of(0.975);
  decision out;
  out.base_runs = before.size();
  out.now_runs = after.size();
  out.base = std::exp(a.value);
  out.now = std::exp(b.value);
  out.ratio = estimate{out.now / out.base, interval{std::exp(size - half), std::exp(size + half)}};
  out.chance = variance <= 0 ? (size == 0 ? 1 : 0) : student_t_beyond(freedom, size / std::sqrt(variance));
  const bool is_negligible = std::abs(size) < std::log(negligible);
  const double needed = is_negligible ? half : half_of(0.995);
  out.verdict = verdict_on(size, needed, more_is_better);
  if (out.verdict != difference::inconclusive) return out;
  const double narrower = needed / half_wanted(size);
  const auto runs = static_cast<double>(std::min(before.size(), after.size()));
  out.repeats_needed = std::max(rounded_up(runs * narrower * narrower), static_cast<std::uint64_t>(runs) + 1);
  out.remark = fmt::format("the interval is too wide; {} runs of each might decide", *out.repeats_needed);
  return out;
}

}  // namespace qd1
