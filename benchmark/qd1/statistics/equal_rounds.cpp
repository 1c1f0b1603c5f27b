// SPDX-License-Identifier: BSL-1.0
#include "statistics/equal_rounds.hpp"

#include "statistics/levels.hpp"
#include "statistics/serial_mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace qd1 {
namespace {

constexpr std::size_t fewest_rounds = 8;
constexpr double fewest_tail_samples = 5;
constexpr double fewest_decisive_samples = 20;
constexpr double half_bin = 1. / 1024;  // a sample is that close to the middle of its bin

double count_of(const sampled_round& round) {
  double samples = 0;
  for (const bin& each : round.bins) samples += static_cast<double>(each.count);
  return samples;
}

std::vector<fraction_step> cumulative(const sampled_round& round, double samples) {
  std::vector<fraction_step> found;
  found.reserve(round.bins.size());
  double below = 0;
  for (const bin& each : round.bins) found.push_back({each.ns, (below += static_cast<double>(each.count)) / samples});
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

double harmonic_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double each : values) sum += 1 / each;
  return static_cast<double>(values.size()) / sum;
}

std::string too_few_effective(const serial_mean& of, std::size_t rounds) {
  if (of.effective >= static_cast<double>(fewest_rounds)) return {};
  return fmt::format("neighboring rounds are alike: {} rounds are worth {:.0f} independent ones; {} are needed", rounds,
                     of.effective, fewest_rounds);
}

std::vector<double> logarithms(std::vector<double> values) {
  for (double& each : values) each = std::log(each);
  return values;
}

// `in_order`: a value of each round, more than 0. `text`: of such a value.
std::string why_no_interval(const std::vector<double>& in_order, const std::vector<std::size_t>& processors,
                            std::string (*text)(double)) {
  if (in_order.size() < fewest_rounds)
    return fmt::format("{} rounds have samples; {} are needed", in_order.size(), fewest_rounds);
  if (const auto found = two_levels(in_order); found && found->lasting)
    return fmt::format("the rounds have two levels, {} and {}, and stay on one for {:.1f} rounds on average",
                       text(found->low), text(found->high), found->rounds_a_visit);
  return too_few_effective(mean_in_order(logarithms(in_order), processors), in_order.size());
}

double log_odds(double fraction) { return std::log(fraction / (1 - fraction)); }
double from_log_odds(double value) { return 1 / (1 + std::exp(-value)); }

}  // namespace

equal_rounds::equal_rounds(std::vector<sampled_round> rounds) : rounds_(std::move(rounds)) {
  std::erase_if(rounds_, [](const sampled_round& each) { return each.bins.empty(); });
  if (rounds_.empty()) return;
  processors_ = processors_of(rounds_);
  for (const sampled_round& each : rounds_) {
    samples_.push_back(count_of(each));
    of_rounds_.push_back(cumulative(each, samples_.back()));
    medians_.push_back(median_of(of_rounds_.back()));
  }
  steps_ = together(0, rounds_.size());
}

// The mean of the fractions of the rounds from `first` to the one before `last`.
equal_rounds::steps equal_rounds::together(std::size_t first, std::size_t last) const {
  if (last - first == 1) return of_rounds_[first];
  const std::size_t middle = (first + last) / 2;
  const steps left = together(first, middle);
  const steps right = together(middle, last);
  const double weight = static_cast<double>(middle - first) / static_cast<double>(last - first);
  steps found;
  found.reserve(left.size() + right.size());
  auto a = left.begin();
  auto b = right.begin();
  while (a != left.end() || b != right.end()) {
    const double ns = b == right.end() || (a != left.end() && a->ns <= b->ns) ? a->ns : b->ns;
    if (a != left.end() && a->ns == ns) ++a;
    if (b != right.end() && b->ns == ns) ++b;
    found.push_back({ns, weight * (a == left.begin() ? 0 : std::prev(a)->up_to) +
                             (1 - weight) * (b == right.begin() ? 0 : std::prev(b)->up_to)});
  }
  return found;
}

double equal_rounds::reaching(double fraction) const {
  const fraction_step& found = *first_reaching(fraction);
  // Samples are spread evenly over the width of their bin.
  const double before = &found == &steps_.front() ? 0 : (&found - 1)->up_to;
  const double part = std::clamp((fraction - before) / (found.up_to - before), 0., 1.);
  return found.ns * (1 + half_bin * (2 * part - 1));
}

equal_rounds::steps::const_iterator equal_rounds::first_reaching(double fraction) const {
  const auto found = std::partition_point(steps_.begin(), steps_.end(),
                                          [&](const fraction_step& each) { return each.up_to < fraction; });
  return found == steps_.end() ? std::prev(found) : found;
}

std::string equal_rounds::why_unsupported() const {
  return why_no_interval(medians_, processors_, [](double ns) { return fmt::format("{:.1f} µs", ns / 1000); });
}

double equal_rounds::correlation_of_medians() const {
  const serial_mean of = mean_in_order(logarithms(medians_), processors_);
  return of.suspect ? of.correlation : 0;
}

estimate equal_rounds::quantile(double fraction) const {
  if (rounds_.empty()) return {0, std::nullopt, scope::within_run, "there are no samples"};
  estimate found{reaching(fraction), std::nullopt, scope::within_run, why_unsupported()};
  if (!found.withheld.empty()) return found;
  const double rarer = std::min(fraction, 1 - fraction);
  if (const double beyond = rarer * harmonic_mean(samples_); beyond < fewest_tail_samples * (1 - 1e-9)) {
    found.withheld =
        fmt::format("{:.1f} samples of a round are expected beyond it; {:.0f} are needed", beyond, fewest_tail_samples);
    return found;
  }
  const double least = correlation_of_medians();
  const serial_mean at = mean_in_order(fractions_up_to(found.value), processors_, least);
  found.withheld = too_few_effective(at, rounds_.size());
  if (found.withheld.empty()) found.interval = interval_of(fraction, at, least);
  return found;
}

// On the scale of log odds, on which the interval of a small fraction leans as the fraction's own distribution does.
interval equal_rounds::interval_of(double fraction, const serial_mean& at, double least_correlation) const {
  // The rarer the samples beyond it, and the more they come in clusters, the less their variance is known.
  const double lean = at.error_if_independent() * (2 * fraction - 1) / (fraction * (1 - fraction));
  const double caution = std::sqrt(1 + 4 * lean * lean);
  const double half = at.half_width() * caution / (fraction * (1 - fraction));
  interval found{reaching(from_log_odds(log_odds(fraction) - half)),
                 reaching(from_log_odds(log_odds(fraction) + half))};

  // Rounds may differ more at a limit than at the percentile: if few of them were slow. Then it is moved outward to
  // where they would tell it from the percentile. Not towards the bulk of the samples, where they do not differ more.
  const auto tells_apart = [&](const fraction_step& step) {
    const serial_mean there = mean_in_order(fractions_up_to(step.ns), processors_, least_correlation);
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

std::vector<double> equal_rounds::fractions_up_to(double ns) const {
  std::vector<double> found;
  found.reserve(of_rounds_.size());
  for (const steps& each : of_rounds_) found.push_back(reached_at(each, ns));
  return found;
}

double equal_rounds::share_up_to(double ns) const { return reached_at(steps_, ns); }

estimate equal_rounds::mean() const {
  if (rounds_.empty()) return {0, std::nullopt, scope::within_run, "there are no samples"};
  std::vector<double> means;
  means.reserve(rounds_.size());
  for (const sampled_round& each : rounds_) means.push_back(each.mean);
  double sum = 0;
  for (const double each : means) sum += each;
  const double value = sum / static_cast<double>(means.size());
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
  const serial_mean of = mean_in_order(means, processors_, correlation_of_medians());
  found.withheld = too_few_effective(of, rounds_.size());
  if (!found.withheld.empty()) return found;
  const double half = of.half_width();
  found.interval = interval{std::max(0., value - half), value + half};
  return found;
}

estimate rate_of_rounds(double rate, std::span<const round> rounds) {
  std::vector<round> measured;
  std::vector<double> rates;
  for (const round& each : rounds) {
    if (each.samples == 0 || !(each.seconds > 0)) continue;
    rates.push_back(static_cast<double>(each.samples) / each.seconds);
    measured.push_back(each);
  }
  const std::vector<std::size_t> processors = processors_of(measured);
  estimate found{rate, std::nullopt, scope::within_run, why_no_interval(rates, processors, [](double a_second) {
                   return fmt::format("{:.0f} IOPS", a_second);
                 })};
  if (!found.withheld.empty()) return found;
  const serial_mean of = mean_in_order(rates, processors);
  const double half = of.half_width() / of.value * rate;  // as a part, whatever the rate is in
  found.interval = interval{std::max(0., rate - half), rate + half};
  return found;
}

}  // namespace qd1
