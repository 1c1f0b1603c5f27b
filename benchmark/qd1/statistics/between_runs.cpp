// SPDX-License-Identifier: BSL-1.0
#include "statistics/between_runs.hpp"

#include "statistics/serial_mean.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace qd1 {

estimate between_runs(std::span<const double> of_runs) {
  constexpr std::size_t fewest = 3;
  constexpr double widest = 1'000;  // times the figure; such an interval says nothing
  estimate found{0, std::nullopt, scope::between_runs, {}};
  const auto count = static_cast<double>(of_runs.size());
  if (of_runs.empty() || *std::min_element(of_runs.begin(), of_runs.end()) <= 0) {
    if (!of_runs.empty()) found.value = std::accumulate(of_runs.begin(), of_runs.end(), 0.) / count;
    found.withheld = of_runs.empty() ? "there are no runs" : "a run found a value of 0";
    return found;
  }
  std::vector<double> logarithms;
  for (const double each : of_runs) logarithms.push_back(std::log(each));
  if (of_runs.size() < fewest) {
    found.value = std::exp(std::accumulate(logarithms.begin(), logarithms.end(), 0.) / count);
    found.withheld = fmt::format("{} runs were made; {} are needed", of_runs.size(), fewest);
    return found;
  }
  const serial_mean of = plain_mean(logarithms);
  found.value = std::exp(of.value);
  if (of.half_width() > std::log(widest)) {
    found.withheld = fmt::format(
        "the runs differ by a factor of {:.3g}, too much for an interval",
        *std::max_element(of_runs.begin(), of_runs.end()) / *std::min_element(of_runs.begin(), of_runs.end()));
    return found;
  }
  found.interval = interval{std::exp(of.value - of.half_width()), std::exp(of.value + of.half_width())};
  return found;
}

}  // namespace qd1
