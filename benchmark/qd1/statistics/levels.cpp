// SPDX-License-Identifier: BSL-1.0
#include "statistics/levels.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace qd1 {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.) / static_cast<double>(values.size());
}

}  // namespace

std::optional<levels> two_levels(std::span<const double> in_order) {
  constexpr double clear = 5;
  constexpr std::size_t fewest = 2;
  std::vector<double> sorted(in_order.begin(), in_order.end());
  std::sort(sorted.begin(), sorted.end());
  if (sorted.size() < 2 * fewest || sorted.front() <= 0) return std::nullopt;
  const auto between = [&](std::size_t low, std::size_t high) { return std::log(sorted[high] / sorted[low]); };
  std::size_t upper = fewest;  // the first value of the higher cluster
  for (std::size_t each = fewest; each + fewest <= sorted.size(); ++each)
    if (between(each - 1, each) > between(upper - 1, upper)) upper = each;
  const double widest = std::max(between(0, upper - 1), between(upper, sorted.size() - 1));
  if (between(upper - 1, upper) <= clear * widest || sorted[upper] == sorted[upper - 1]) return std::nullopt;

  std::size_t visits = 1;
  for (std::size_t each = 1; each < in_order.size(); ++each)
    visits += (in_order[each] >= sorted[upper]) != (in_order[each - 1] >= sorted[upper]);
  // The number of visits of independent values is known (A. Wald, J. Wolfowitz, 1940).
  const auto count = static_cast<double>(in_order.size());
  const auto lower = static_cast<double>(upper);
  const double mean_visits = 1 + 2 * lower * (count - lower) / count;
  const double deviation = std::sqrt((mean_visits - 1) * (mean_visits - 2) / (count - 1));
  const auto visited = static_cast<double>(visits);
  const std::span<const double> all(sorted);
  return levels{mean(all.first(upper)), mean(all.subspan(upper)), count / visited,
                count / visited >= 2 && visited < mean_visits - 1.64 * deviation};
}

}  // namespace qd1
