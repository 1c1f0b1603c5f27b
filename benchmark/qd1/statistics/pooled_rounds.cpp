// SPDX-License-Identifier: BSL-1.0
#include "statistics/pooled_rounds.hpp"

#include "statistics/levels.hpp"
#include "statistics/order_statistics.hpp"
#include "statistics/serial_mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

namespace qd1 {
namespace {

constexpr std::size_t fewest_rounds = 8;
constexpr double fewest_tail_samples = 5;
constexpr double fewest_rounds_beyond = 4;
constexpr double fewest_decisive_samples = 20;
constexpr double fewest_of_a_median = 20;
constexpr double half_bin = 1. / 1024;  // a sample is that close to the middle of its bin

double count_of(const sampled_round& round) {
  double samples = 0;
  for (const bin& each : round.bins) samples += static_cast<double>(each.count);
  return samples;
}

std::vector<fraction_step> cumulative(const std::vector<bin>& bins, double samples) {
  std::vector<fraction_step> found;
  found.reserve(bins.size());
  double below = 0;
  for (const bin& each : bins) found.push_back({each.ns, (below += static_cast<double>(each.count)) / samples});
  return found;
}

double median_of(const std::vector<fraction_step>& round) {
  return std::partition_point(round.begin(), round.end(), [](auto& each) { return each.up_to < 0.5; })->ns;
}

double reached_at(const std::vector<fraction_step>& steps, double ns) {
  const auto above =
      std::partition_point(steps.begin(), steps.end(), [&](const fraction_step& step) { return step.ns <= ns; });
  return above == steps.begin() ? 0 : std::prev(above)->up_to;
}

// Empty: not all are known.
template <class Round>
std::vector<std::size_t> processors_of(const std::vector<Round>& rounds) {
  std::vector<std::uint64_t> known;
  std::vector<std::size_t> numbers;
  for (const Round& each : rounds) {
    if (!each.processor) return {};
    const auto found = std::find(known.begin(), known.end(), *each.processor);
    numbers.push_back(static_cast<std::size_t>(found - known.begin()));
    if (found == known.end()) known.push_back(*each.processor);
  }
  return numbers;
}

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.); }

// How many rounds of the same size are worth as much as those (L. Kish, Survey Sampling, 1965).
double effective_rounds(const std::vector<double>& sizes) {
  const double squares = std::inner_product(sizes.begin(), sizes.end(), sizes.begin(), 0.);
  return sum_of(sizes) * sum_of(sizes) / squares;
}

// The ratio of sums over all rounds, and its variance by the jackknife: `sizes` are the denominators, `ratios` those of
// each round. There are at least four.
serial_mean ratio_in_order(const std::vector<double>& ratios, const std::vector<double>& sizes,
                           const std::vector<std::size_t>& processors, double least_correlation = 0) {
  const double all = sum_of(sizes);
  const double ratio = std::inner_product(ratios.begin(), ratios.end(), sizes.begin(), 0.) / all;
  const auto count = static_cast<double>(ratios.size());
  std::vector<double> pseudo_values;
  pseudo_values.reserve(ratios.size());
  for (std::size_t each = 0; each < ratios.size(); ++each)
    pseudo_values.push_back(ratio + (count - 1) * sizes[each] / (all - sizes[each]) * (ratios[each] - ratio));
  serial_mean found = mean_in_order(pseudo_values, processors, least_correlation);
  found.value = ratio;
  constexpr double least_freedom = 4;
  found.freedom = std::max(std::min(least_freedom, found.freedom), found.freedom - (count - effective_rounds(sizes)));
  return found;
}

// Where all figures are more than 0, an interval on the scale of their logarithms is, too.
interval factor_around(const serial_mean& of, double value) {
  const double factor = of.value > 0 ? std::exp(of.half_width() / of.value) : 1;
  return {value / factor, value * factor};
}

std::string too_few_effective(double worth, std::size_t rounds) {
  if (worth >= static_cast<double>(fewest_rounds)) return {};
  return fmt::format("neighboring rounds are alike: {} rounds are worth {:.0f} independent ones; {} are needed", rounds,
                     std::floor(worth), fewest_rounds);
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& each : values) each = std::log(each);
  return values;
}

// `in_order`: a value of each round, more than 0. `text`: of such a value.
std::string why_no_interval(const std::vector<double>& in_order, const std::vector<double>& sizes,
                            const std::vector<std::size_t>& processors, std::string (*text)(double)) {
  if (in_order.size() < fewest_rounds)
    return fmt::format("{} rounds have samples; {} are needed", in_order.size(), fewest_rounds);
  if (const double worth = effective_rounds(sizes); worth < static_cast<double>(fewest_rounds))
    return fmt::format(
        "a few rounds have most of the samples: {} rounds are worth {:.0f} of the same size; {} are needed",
        sizes.size(), std::floor(worth), fewest_rounds);
  if (const auto found = two_levels(in_order); found && found->lasting)
    return fmt::format("the rounds have two levels, {} and {}, and stay on one for {:.1f} rounds on average",
                       text(found->low), text(found->high), found->rounds_a_visit);
  return too_few_effective(mean_in_order(logarithms(in_order), processors).effective, in_order.size());
}

double log_odds(double fraction) { return std::log(fraction / (1 - fraction)); }
double from_log_odds(double value) { return 1 / (1 + std::exp(-value)); }

}  // namespace

pooled_rounds::pooled_rounds(std::vector<sampled_round> rounds) : rounds_(std::move(rounds)) {
  std::erase_if(rounds_, [](const sampled_round& each) { return each.bins.empty(); });
  if (rounds_.empty()) return;
  processors_ = processors_of(rounds_);
  for (const sampled_round& each : rounds_) {
    samples_.push_back(count_of(each));
    of_rounds_.push_back(cumulative(each.bins, samples_.back()));
    if (samples_.back() < fewest_of_a_median) continue;
    medians_.push_back(median_of(of_rounds_.back()));
    if (!processors_.empty()) processors_of_medians_.push_back(processors_[samples_.size() - 1]);
  }
  steps_ = cumulative(together(0, rounds_.size()), sum_of(samples_));
}

// The bins of the rounds from `first` to the one before `last`.
std::vector<bin> pooled_rounds::together(std::size_t first, std::size_t last) const {
  if (last - first == 1) return rounds_[first].bins;
  const std::size_t middle = (first + last) / 2;
  const std::vector<bin> left = together(first, middle);
  const std::vector<bin> right = together(middle, last);
  std::vector<bin> found;
  found.reserve(left.size() + right.size());
  auto a = left.begin();
  auto b = right.begin();
  while (a != left.end() || b != right.end()) {
    const double ns = b == right.end() || (a != left.end() && a->ns <= b->ns) ? a->ns : b->ns;
    std::uint64_t count = 0;
    if (a != left.end() && a->ns == ns) count += (a++)->count;
    if (b != right.end() && b->ns == ns) count += (b++)->count;
    found.push_back({ns, count});
  }
  return found;
}

double pooled_rounds::reaching(double fraction) const {
  const fraction_step& found = *first_reaching(fraction);
  // Samples are spread evenly over the width of their bin.
  const double before = &found == &steps_.front() ? 0 : (&found - 1)->up_to;
  const double part = std::clamp((fraction - before) / (found.up_to - before), 0., 1.);
  return found.ns * (1 + half_bin * (2 * part - 1));
}

pooled_rounds::steps::const_iterator pooled_rounds::first_reaching(double fraction) const {
  const auto found = std::partition_point(steps_.begin(), steps_.end(),
                                          [&](const fraction_step& each) { return each.up_to < fraction; });
  return found == steps_.end() ? std::prev(found) : found;
}

std::string pooled_rounds::why_unsupported() const {
  if (std::string reason = why_no_interval(medians_, samples_, processors_of_medians_,
                                           [](double ns) { return fmt::format("{:.1f} µs", ns / 1000); });
      !reason.empty())
    return reason;
  // Rounds that differ by much more than independent samples would, and are alike, have samples that depend on one
  // another for longer than a round. How long, few rounds cannot tell.
  constexpr double much_more = 20;
  constexpr std::size_t few = 16;
  const serial_mean at = fraction_at(reaching(0.5), 0);
  const double if_independent = 0.25 / sum_of(samples_);  // of the fraction below the median
  const bool alike = rounds_.size() < few ? at.chance <= 0.1 : at.suspect;
  if (!alike || at.independent_variance < much_more * if_independent) return {};
  const auto worth = static_cast<double>(rounds_.size()) * at.independent_variance / at.variance;
  return too_few_effective(worth, rounds_.size());
}

double pooled_rounds::correlation_of_medians() const {
  const serial_mean of = mean_in_order(logarithms(medians_), processors_of_medians_);
  return of.suspect ? of.correlation : 0;
}

estimate pooled_rounds::quantile(double fraction) const {
  if (rounds_.empty()) return {0, std::nullopt, scope::within_run, "there are no samples"};
  estimate found{reaching(fraction), std::nullopt, scope::within_run, why_unsupported()};
  if (!found.withheld.empty()) return found;
  const double rarer = std::min(fraction, 1 - fraction);
  const double average = sum_of(samples_) / static_cast<double>(samples_.size());
  if (const double beyond = rarer * average; beyond < fewest_tail_samples * (1 - 1e-9)) {
    found.withheld =
        fmt::format("{:.1f} samples of a round are expected beyond it; {:.0f} are needed", beyond, fewest_tail_samples);
    return found;
  }
  found.withheld = too_few_rounds_beyond(fraction);
  if (!found.withheld.empty()) return found;
  const double least = correlation_of_medians();
  const serial_mean at = fraction_at(found.value, least);
  found.withheld = too_few_effective(at.effective, rounds_.size());
  if (found.withheld.empty()) found.interval = interval_of(fraction, at, least);
  return found;
}

// On the scale of log odds, on which the interval of a small fraction leans as the fraction's own distribution does.
interval pooled_rounds::interval_of(double fraction, const serial_mean& at, double least_correlation) const {
  // The rarer the samples beyond it, and the more they come in clusters, the less their variance is known.
  const double lean = at.error_if_independent() * (2 * fraction - 1) / (fraction * (1 - fraction));
  const double caution = std::sqrt(1 + 4 * lean * lean);
  const double half = at.half_width() * caution / (fraction * (1 - fraction));
  interval found{reaching(from_log_odds(log_odds(fraction) - half)),
                 reaching(from_log_odds(log_odds(fraction) + half))};

  // Rounds may differ more at a limit than at the percentile: if few of them were slow. Then it is moved outward to
  // where they would tell it from the percentile. Not towards the bulk of the samples, where they do not differ more.
  const auto tells_apart = [&](const fraction_step& step) {
    const serial_mean there = fraction_at(step.ns, least_correlation);
    const double scale = there.value * (1 - there.value);
    return scale < 1e-12 || std::abs(log_odds(there.value) - log_odds(fraction)) > there.half_width() * caution / scale;
  };
  if (fraction >= 0.5) {
    const auto from =
        std::partition_point(steps_.begin(), steps_.end(), [&](auto& each) { return each.ns <= found.high; });
    const auto to = std::partition_point(from, steps_.end(), [&](auto& each) { return !tells_apart(each); });
    if (to != from) found.high = std::prev(to)->ns;
  }
  if (fraction <= 0.5) {
    const auto to = std::partition_point(steps_.begin(), steps_.end(), [&](auto& each) { return each.ns < found.low; });
    const auto from = std::partition_point(steps_.begin(), to, tells_apart);
    if (from != to) found.low = from->ns;
  }
  const double middle = first_reaching(fraction)->ns;
  return {std::min(found.low, middle * (1 - half_bin)), std::max(found.high, middle * (1 + half_bin))};
}

// Samples beyond a percentile that come from a few rounds are a few events, however many samples they are. Those of its
// own bin count, too.
std::string pooled_rounds::too_few_rounds_beyond(double fraction) const {
  const double bin = first_reaching(fraction)->ns;
  std::vector<double> beyond;
  beyond.reserve(rounds_.size());
  for (std::size_t each = 0; each < rounds_.size(); ++each) {
    const double part =
        fraction < 0.5 ? reached_at(of_rounds_[each], bin) : 1 - reached_at(of_rounds_[each], bin * (1 - half_bin / 2));
    beyond.push_back(samples_[each] * part);
  }
  const double worth = effective_rounds(beyond);
  if (worth >= fewest_rounds_beyond) return {};
  return fmt::format("the samples beyond it are from a few rounds: as from {:.1f} of {}; {:.0f} are needed", worth,
                     rounds_.size(), fewest_rounds_beyond);
}

serial_mean pooled_rounds::fraction_at(double ns, double least_correlation) const {
  std::vector<double> fractions;
  fractions.reserve(of_rounds_.size());
  for (const steps& each : of_rounds_) fractions.push_back(reached_at(each, ns));
  return ratio_in_order(fractions, samples_, processors_, least_correlation);
}

estimate pooled_rounds::mean() const {
  if (rounds_.empty()) return {0, std::nullopt, scope::within_run, "there are no samples"};
  std::vector<double> means;
  means.reserve(rounds_.size());
  for (const sampled_round& each : rounds_) means.push_back(each.mean);
  const double value = std::inner_product(means.begin(), means.end(), samples_.begin(), 0.) / sum_of(samples_);
  estimate found{value, std::nullopt, scope::within_run, why_unsupported()};
  if (!found.withheld.empty()) return found;
  // How many samples the variance comes from: the fewer, the less it is known.
  double squares = 0;
  double fourths = 0;
  for (std::size_t each = 0; each < rounds_.size(); ++each)
    for (const bin& bin : rounds_[each].bins) {
      const double square = (bin.ns - value) * (bin.ns - value);
      squares += static_cast<double>(bin.count) * square;
      fourths += static_cast<double>(bin.count) * square * square;
    }
  if (fourths > 0 && squares * squares / fourths < fewest_decisive_samples) {
    found.withheld = "a handful of samples determine the mean";
    return found;
  }
  const serial_mean of = ratio_in_order(means, samples_, processors_, correlation_of_medians());
  found.withheld = too_few_effective(of.effective, rounds_.size());
  if (found.withheld.empty()) found.interval = factor_around(of, value);
  return found;
}

std::optional<double> quantile_by_rounds(std::span<const sampled_round> rounds, double fraction) {
  struct part {
    double ns;
    double weight;
  };
  const auto enough = static_cast<double>(samples_needed(fraction));
  std::vector<part> parts;
  std::size_t counted = 0;
  for (const sampled_round& each : rounds) {
    const double samples = count_of(each);
    if (samples < enough) continue;
    ++counted;
    for (const bin& of : each.bins) parts.push_back({of.ns, static_cast<double>(of.count) / samples});
  }
  if (counted == 0 || 2 * counted < rounds.size()) return std::nullopt;
  std::ranges::sort(parts, {}, &part::ns);
  double left = fraction * static_cast<double>(counted) * (1 - 1e-12);
  for (const part& each : parts)
    if ((left -= each.weight) <= 0) return each.ns;
  return parts.back().ns;
}

estimate rate_of_rounds(double rate, std::span<const round> rounds) {
  std::vector<round> measured;
  std::vector<double> rates;
  std::vector<double> seconds;
  for (const round& each : rounds) {
    if (each.samples == 0 || !(each.seconds > 0)) continue;
    rates.push_back(static_cast<double>(each.samples) / each.seconds);
    seconds.push_back(each.seconds);
    measured.push_back(each);
  }
  const std::vector<std::size_t> processors = processors_of(measured);
  estimate found{rate, std::nullopt, scope::within_run,
                 why_no_interval(rates, seconds, processors,
                                 [](double a_second) { return fmt::format("{:.0f} IOPS", a_second); })};
  if (!found.withheld.empty()) return found;
  found.interval = factor_around(ratio_in_order(rates, seconds, processors), rate);  // whatever the rate is in
  return found;
}

}  // namespace qd1
