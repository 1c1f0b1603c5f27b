// SPDX-License-Identifier: BSL-1.0
#include "statistics/settling.hpp"

#include "statistics/serial_mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <vector>

namespace qd1 {
namespace {

constexpr std::size_t fewest_to_settle = 10;
constexpr std::size_t window_count = 5;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// The logarithms, less what the CPU of each adds in the second half of the run, when all are warm.
std::vector<double> logarithms(std::span<const round_median> rounds) {
  std::vector<double> values;
  std::map<std::uint64_t, std::vector<double>> late;
  for (std::size_t each = 0; each < rounds.size(); ++each) {
    values.push_back(std::log(rounds[each].ns));
    if (rounds[each].processor && 2 * each >= rounds.size()) late[*rounds[each].processor].push_back(values.back());
  }
  const double level = median({values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end()});
  for (std::size_t each = 0; each < rounds.size(); ++each) {
    constexpr std::size_t enough = 3;
    if (!rounds[each].processor) continue;
    const auto found = late.find(*rounds[each].processor);
    if (found != late.end() && found->second.size() >= enough) values[each] -= median(found->second) - level;
  }
  return values;
}

std::size_t warm_up_of(const std::vector<double>& values) {
  const std::size_t half = values.size() / 2;
  const auto [least, most] = std::minmax_element(values.begin() + static_cast<std::ptrdiff_t>(half), values.end());
  const double margin = std::max(std::log(1.2), *most - *least);
  std::size_t rounds = 0;
  while (rounds < half && (values[rounds] > *most + margin || values[rounds] < *least - margin)) ++rounds;
  return rounds;
}

// By least squares: what it adds from the first round to the last, and in standard errors.
struct trend {
  double change;
  double student;
};

trend trend_of(std::span<const double> values) {
  const auto count = static_cast<double>(values.size());
  const double center = (count - 1) / 2;
  const double mean = std::accumulate(values.begin(), values.end(), 0.) / count;
  double products = 0;
  double squares = 0;
  for (std::size_t each = 0; each < values.size(); ++each) {
    const double at = static_cast<double>(each) - center;
    products += at * values[each];
    squares += at * at;
  }
  const double slope = products / squares;
  double rest = 0;
  for (std::size_t each = 0; each < values.size(); ++each) {
    const double off = values[each] - mean - slope * (static_cast<double>(each) - center);
    rest += off * off;
  }
  const double error = std::sqrt(rest / (count - 2) / squares);
  return {slope * (count - 1), error > 0 ? std::abs(slope) / error : HUGE_VAL};
}

double range_of_windows(std::span<const double> values) {
  std::vector<double> medians;
  for (std::size_t window = 0; window < window_count; ++window) {
    const std::size_t from = window * values.size() / window_count;
    const std::size_t to = (window + 1) * values.size() / window_count;
    medians.push_back(
        median({values.begin() + static_cast<std::ptrdiff_t>(from), values.begin() + static_cast<std::ptrdiff_t>(to)}));
  }
  const auto [least, most] = std::minmax_element(medians.begin(), medians.end());
  return *most - *least;
}

// A random walk stays near where it began for a while. The less it has wandered, the surer it has to be one.
bool wanders(std::span<const double> values) {
  const double range = range_of_windows(values);
  const serial_mean neighbors = mean_in_order(values);
  return (range > std::log(1.2) && neighbors.suspect) || (range > std::log(1.05) && neighbors.chance <= 0.002);
}

bool is_of_two_processors(std::span<const round_median> rounds) {
  std::set<std::uint64_t> all;
  for (const round_median& each : rounds)
    if (each.processor) all.insert(*each.processor);
  return all.size() == 2;
}

std::vector<double> plain_logarithms(std::span<const round_median> rounds) {
  std::vector<double> found;
  found.reserve(rounds.size());
  for (const round_median& each : rounds) found.push_back(std::log(each.ns));
  return found;
}

}  // namespace

std::optional<settling> how_settled(std::span<const round_median> in_order) {
  if (in_order.size() < fewest_to_settle) return std::nullopt;
  const std::vector<double> values = logarithms(in_order);
  settling found;
  found.warm_up = warm_up_of(values);
  const std::span<const double> warm = std::span(values).subspan(found.warm_up);
  const double later = median({warm.begin(), warm.end()});
  if (found.warm_up != 0)
    found.text = fmt::format("it warmed up: the first {} of {} rounds began at {:.1f} µs, the others are at {:.1f} µs",
                             found.warm_up, values.size(), in_order.front().ns / 1000, std::exp(later) / 1000);
  const trend trend = trend_of(warm);
  double range = range_of_windows(warm);
  constexpr double clear = 4;
  const bool has_trend = std::abs(trend.change) > std::log(1.1) && trend.student > clear;
  found.drifts = has_trend || wanders(warm);
  // What two CPUs in turn differ by is not alike, and of a random walk it is chance that makes it so if it is taken
  // away.
  if (!found.drifts && is_of_two_processors(in_order)) {
    const std::vector<double> plain = plain_logarithms(in_order.subspan(found.warm_up));
    if (wanders(plain)) {
      found.drifts = true;
      range = range_of_windows(plain);
    }
  }
  if (!found.drifts) return found;
  if (!found.text.empty()) found.text += "; ";
  if (has_trend)
    found.text += fmt::format("it drifts: the median of its rounds changed by {:+.0f} % from first to last",
                              (std::exp(trend.change) - 1) * 100);
  else
    found.text += fmt::format("it drifts: the median of its rounds wandered by {:.0f} %", (std::exp(range) - 1) * 100);
  return found;
}

}  // namespace qd1
