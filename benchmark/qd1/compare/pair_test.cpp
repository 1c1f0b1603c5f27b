// SPDX-License-Identifier: BSL-1.0
#include "compare/pair_test.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace qd1 {
namespace {

// Best for about 8 times as many pairs, and nearly as good for half or five times as many.
constexpr double mixture = 8;
// A difference counts as if it were at most this many scales away, so that a few disturbed runs decide nothing.
constexpr double furthest = 3;
constexpr std::size_t known_scale = 5;

double middle_of(std::vector<double> values) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// By the median deviation from the median, as a standard deviation.
double scatter(const std::vector<double>& values) {
  const double middle = middle_of(values);
  std::vector<double> deviations;
  deviations.reserve(values.size());
  for (const double each : values) deviations.push_back(std::abs(each - middle));
  return 1.4826 * middle_of(std::move(deviations));
}

double weight_of(double difference, double scale) { return std::clamp(difference / scale, -furthest, furthest); }

}  // namespace

pair_test::pair_test(double effect, double error) : effect_(std::log1p(effect)), enough_(std::log(1 / error)) {}

void pair_test::add(double base, double now) {
  // Only those before may decide it: the sign of this one has to remain random.
  const double least = effect_ / 20;
  scales_.push_back(differences_.size() < known_scale ? effect_ : std::max(least, scatter(differences_)));
  differences_.push_back(std::log(now / base));
}

double pair_test::sum(double difference) const {
  double sum = 0;
  for (std::size_t each = 0; each < differences_.size(); ++each)
    sum += weight_of(differences_[each] - difference, scales_[each]);
  return sum;
}

// Against this difference: the logarithm of what a bet on it would have won.
double pair_test::evidence(double difference) const {
  double sum = 0;
  double squares = 0;
  for (std::size_t each = 0; each < differences_.size(); ++each) {
    const double weight = weight_of(differences_[each] - difference, scales_[each]);
    sum += weight;
    squares += weight * weight;
  }
  return sum * sum / (2 * (squares + mixture)) - std::log1p(squares / mixture) / 2;
}

// Where the weights of both sides are equal.
double pair_test::middle() const {
  auto [low, high] = std::ranges::minmax(differences_);
  for (int step = 0; step < 60 && low < high; ++step) {
    const double middle = (low + high) / 2;
    (sum(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::optional<double> pair_test::limit(double middle, double direction) const {
  constexpr double widest = 7;  // a factor of 1,000
  double inside = 0;
  double outside = effect_ / 20;
  while (evidence(middle + direction * outside) < enough_) {
    if (outside > widest) return std::nullopt;
    inside = std::exchange(outside, outside * 1.5);
  }
  for (int step = 0; step < 30; ++step) {
    const double next = (inside + outside) / 2;
    (evidence(middle + direction * next) < enough_ ? inside : outside) = next;
  }
  return middle + direction * outside;
}

estimate pair_test::ratio() const {
  if (differences_.empty()) return {1, std::nullopt, scope::within_run, "there are no pairs"};
  const double middle = this->middle();
  estimate found{std::exp(middle), std::nullopt, scope::within_run, {}};
  const auto low = limit(middle, -1);
  const auto high = limit(middle, 1);
  if (low && high)
    found.interval = interval{std::exp(*low), std::exp(*high)};
  else
    found.withheld = "too few pairs";
  return found;
}

detected pair_test::verdict() const {
  const auto ends = ratio().interval;
  if (!ends) return detected::undecided;
  const bool is_within = std::log(ends->low) > -effect_ && std::log(ends->high) < effect_;
  if (is_within) return detected::none;
  return ends->low > 1 ? detected::slower : ends->high < 1 ? detected::faster : detected::undecided;
}

}  // namespace qd1
