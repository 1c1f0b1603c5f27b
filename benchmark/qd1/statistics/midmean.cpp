// SPDX-License-Identifier: BSL-1.0
#include "statistics/midmean.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace qd1 {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

// Sum of the products of deviations of values that are `apart` from each other.
double products(std::span<const double> values, double center, std::size_t apart) {
  double sum = 0;
  for (std::size_t each = apart; each < values.size(); ++each)
    sum += (values[each] - center) * (values[each - apart] - center);
  return sum;
}

// By how much the variance of a mean is larger than it were, did the values not depend on one another.
double inflation(double correlation, double count) {
  constexpr double most = 0.8;  // few values cannot tell what is beyond
  const double unbiased = (count * correlation + 1) / (count - 3);
  const double believed = std::clamp(unbiased, 0., most);
  return (1 + believed) / (1 - believed);
}

}  // namespace

location midmean(std::span<const double> in_order) {
  std::vector<double> sorted(in_order.begin(), in_order.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t cut = sorted.size() / 4;
  const std::span<const double> middle = std::span(sorted).subspan(cut, sorted.size() - 2 * cut);
  std::vector<double> winsorized(in_order.begin(), in_order.end());
  for (double& each : winsorized) each = std::clamp(each, middle.front(), middle.back());

  const double center = mean(winsorized);
  const double squares = products(winsorized, center, 0);
  const auto count = static_cast<double>(in_order.size());
  const auto kept = static_cast<double>(middle.size());
  location found{mean(middle), 0, 0, kept - 1};
  if (squares <= 0) return found;
  found.variance = squares / (kept * (kept - 1)) * inflation(products(winsorized, center, 1) / squares, count);
  // Were they independent, the mean would have this variance divided by their number.
  found.single = squares / (kept * (kept - 1)) * count;
  return found;
}

}  // namespace qd1
