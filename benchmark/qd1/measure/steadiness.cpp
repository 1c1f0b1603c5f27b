// SPDX-License-Identifier: BSL-1.0
#include "measure/steadiness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace qd1 {
namespace {

constexpr std::size_t window_count = 5;

double mean_latency(const slice* begin, const slice* end) {
  double sum = 0;
  double operations = 0;
  for (const slice* each = begin; each != end; ++each) {
    sum += each->mean * static_cast<double>(each->operations);
    operations += static_cast<double>(each->operations);
  }
  return operations == 0 ? 0 : sum / operations;
}

}  // namespace

std::optional<bool> is_steady(const std::vector<slice>& slices) {
  constexpr std::size_t least_slices_a_window = 4;
  const std::size_t length = slices.size() / window_count;
  if (length < least_slices_a_window) return std::nullopt;
  std::array<double, window_count> windows;
  for (std::size_t each = 0; each < window_count; ++each)
    windows[each] = mean_latency(slices.data() + each * length, slices.data() + (each + 1) * length);
  const double average = std::accumulate(windows.begin(), windows.end(), 0.) / window_count;
  const auto [least, most] = std::minmax_element(windows.begin(), windows.end());
  // Least squares over x = -2 … 2, whose squares sum to 10.
  double slope = 0;
  for (std::size_t each = 0; each < window_count; ++each) slope += (static_cast<double>(each) - 2) * windows[each] / 10;
  return *most - *least <= 0.2 * average && std::abs(slope) * (window_count - 1) <= 0.1 * average;
}

}  // namespace qd1
