// SPDX-License-Identifier: BSL-1.0
#include "statistics/serial_mean.hpp"

#include "statistics/distributions.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

namespace qd1 {
namespace {

struct centered {
  std::vector<double> values;  // less the mean of their group
  std::size_t groups;
};

// One group for all values, unless each group has two values at least.
std::vector<std::size_t> usable(std::span<const std::size_t> groups, std::size_t count) {
  std::vector<std::size_t> sizes;
  for (const std::size_t each : groups) {
    if (each >= sizes.size()) sizes.resize(each + 1);
    ++sizes[each];
  }
  const bool balanced = groups.size() == count && std::find(sizes.begin(), sizes.end(), 1u) == sizes.end();
  return balanced ? std::vector(groups.begin(), groups.end()) : std::vector<std::size_t>(count);
}

centered center(std::span<const double> values, std::span<const std::size_t> groups) {
  const std::vector<std::size_t> group_of = usable(groups, values.size());
  const std::size_t most = *std::max_element(group_of.begin(), group_of.end()) + 1;
  std::vector<double> sums(most);
  std::vector<double> sizes(most);
  for (std::size_t each = 0; each < values.size(); ++each) {
    sums[group_of[each]] += values[each];
    ++sizes[group_of[each]];
  }
  centered found{std::vector(values.begin(), values.end()), 0};
  for (const double size : sizes) found.groups += size != 0;
  for (std::size_t each = 0; each < values.size(); ++each)
    found.values[each] -= sums[group_of[each]] / sizes[group_of[each]];
  return found;
}

struct moments {
  double squares = 0;      // sum of the squares of deviations
  double products = 0;     // … of the products of neighbors
  double differences = 0;  // … of the squares of differences between neighbors
};

moments moments_of(const std::vector<double>& deviations) {
  moments found;
  for (const double each : deviations) found.squares += each * each;
  for (std::size_t each = 1; each < deviations.size(); ++each) {
    const double step = deviations[each] - deviations[each - 1];
    found.products += deviations[each] * deviations[each - 1];
    found.differences += step * step;
  }
  return found;
}

// The ratio of independent normal values lies between 0 and 4, nearly as a symmetric beta distribution does. It is this
// small with the given probability.
double least_ratio(double count, double chance) {
  const double shape = ((count * count - 1) / (count - 2) - 1) / 2;
  return 4 * symmetric_beta_quantile(shape, chance);
}

constexpr double suspect_chance = 0.02;
constexpr double sure_chance = 2e-5;
constexpr std::array chances = {sure_chance, 0.002, suspect_chance, 0.1};

// At most the chance that independent values have so small a ratio: one of `chances`, or 1.
double chance_of(double ratio, std::size_t count) {
  // The limits of one number of values are asked for again and again.
  thread_local std::map<std::size_t, std::array<double, chances.size()>> known;
  const auto [limits, is_new] = known.try_emplace(count);
  for (std::size_t each = 0; is_new && each < chances.size(); ++each)
    limits->second[each] = least_ratio(static_cast<double>(count), chances[each]);
  const auto above = std::ranges::upper_bound(limits->second, ratio);
  return above == limits->second.end() ? 1 : chances[static_cast<std::size_t>(above - limits->second.begin())];
}

}  // namespace

double serial_mean::error_if_independent() const { return std::sqrt(independent_variance); }

double serial_mean::half_width() const { return student_t_quantile(freedom, 0.975) * std::sqrt(variance); }

serial_mean mean_in_order(std::span<const double> values, std::span<const std::size_t> groups,
                          double least_correlation) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / count;
  const centered deviations = center(values, groups);
  const double freedom = count - static_cast<double>(deviations.groups);
  const moments found = moments_of(deviations.values);
  // Equal values differ from their mean by what rounding leaves.
  const double rounding = 1e-12 * mean;
  if (found.squares <= count * rounding * rounding) return {mean, 0, 0, freedom, count, 0, false, 1};

  const double ratio = found.differences / found.squares;
  const double chance = chance_of(ratio, values.size());
  const bool suspect = chance <= suspect_chance;
  const double unbiased = (count * found.products / found.squares + 1) / (count - 3);
  const double error = (count - 2) / (count * std::sqrt(count - 1));
  const double most = suspect ? 0.9 : 1 - 3 / count;  // few values cannot tell what is beyond
  const double correlation = std::max(least_correlation, std::clamp(unbiased + (suspect ? 1 : 0.4) * error, 0., most));
  const double inflation = (1 + correlation) / (1 - correlation);
  const double independent = found.squares / freedom / count;
  constexpr double least_freedom = 4;  // less would be a guess about the guess
  return {mean,
          independent,
          independent * inflation,
          std::max(std::min(least_freedom, freedom), freedom - (count - count / inflation)),
          chance <= sure_chance ? count / inflation : count,
          correlation,
          suspect,
          chance};
}

serial_mean plain_mean(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / count;
  double squares = 0;
  for (const double each : values) squares += (each - mean) * (each - mean);
  const double variance = squares / (count - 1) / count;
  return {mean, variance, variance, count - 1, count, 0, false, 1};
}

}  // namespace qd1
