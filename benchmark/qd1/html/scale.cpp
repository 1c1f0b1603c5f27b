// SPDX-License-Identifier: BSL-1.0
#include "scale.hpp"

#include "quantity.hpp"

#include <algorithm>
#include <cmath>

namespace qd1::html {
namespace {

constexpr double steps[] = {1, 2, 5, 10};
constexpr double rounding = 1e-9;  // 10^log10(x) is not always x

double step_below(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value) + rounding));
  double found = decade;
  for (const double step : steps)
    if (step * decade <= value * (1 + rounding)) found = step * decade;
  return found;
}

double step_above(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value) + rounding));
  for (const double step : steps)
    if (step * decade >= value * (1 - rounding)) return step * decade;
  return 10 * decade;
}

}  // namespace

log_scale::log_scale(double low, double high) {
  low = std::max(low, 0.1);
  high = std::max(high, low * 1.01);
  low_ = std::log10(step_below(low));
  high_ = std::log10(step_above(high));
}

double log_scale::operator()(double ns) const {
  if (!(ns > 0)) return 0;
  return std::clamp((std::log10(ns) - low_) / (high_ - low_), 0.0, 1.0);
}

std::vector<tick> log_scale::ticks(std::size_t most) const {
  std::vector<tick> found;
  for (double exponent = std::floor(low_); exponent <= high_ + rounding; ++exponent)
    for (const double step : {1.0, 2.0, 5.0}) {
      const double at = exponent + std::log10(step);
      if (at < low_ - rounding || at > high_ + rounding) continue;
      found.push_back({(at - low_) / (high_ - low_), axis_text(step * std::pow(10, exponent)), step != 1});
    }
  // Powers of ten alone, unless they are too few to read from.
  if (found.size() > most && std::ranges::count(found, false, &tick::minor) >= 2)
    std::erase_if(found, [](const tick& each) { return each.minor; });
  const std::size_t apart = (found.size() + most - 1) / most;
  std::size_t number = 0;
  std::erase_if(found, [&](const tick&) { return number++ % apart != 0; });
  return found;
}

count_scale::count_scale(double high, double low) : logarithmic_(low > 0 && high > 20 * low) {
  if (logarithmic_) {
    low_ = std::floor(std::log10(low) + rounding);
    high_ = std::ceil(std::log10(high) - rounding);
    return;
  }
  if (!(high > 0)) return;
  const double decade = std::pow(10, std::floor(std::log10(high)));
  step_ = decade * (high > 5 * decade ? 2 : high > 2 * decade ? 1 : 0.5);
  high_ = std::ceil(high / step_) * step_;
}

double count_scale::operator()(double count) const {
  if (!logarithmic_) return std::clamp(count / high_, 0.0, 1.0);
  return count > 0 ? std::clamp((std::log10(count) - low_) / (high_ - low_), 0.0, 1.0) : 0;
}

std::vector<tick> count_scale::ticks() const {
  std::vector<tick> found;
  for (double at = low_; at <= high_ + step_ * 1e-3; at += step_) {
    const double count = logarithmic_ ? std::pow(10, at) : at;
    found.push_back({(at - low_) / (high_ - low_), count == 0 ? "0" : rate_text(count)});
  }
  return found;
}

double percentile_scale::operator()(double fraction) const {
  if (fraction >= 1) return 1;
  return std::clamp(-std::log10(1 - fraction) / decades_, 0.0, 1.0);
}

std::vector<tick> percentile_scale::ticks() const {
  std::vector<tick> found = {{(*this)(0.5), percent_text(0.5), true}};
  for (int nines = 1; nines <= decades_; ++nines)
    found.push_back({nines / decades_, percent_text(1 - std::pow(10, -nines)), nines % 2 == 0});
  return found;
}

}  // namespace qd1::html
