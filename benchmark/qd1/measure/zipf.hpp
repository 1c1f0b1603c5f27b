// SPDX-License-Identifier: BSL-1.0
// Zipf's law: few are chosen often, most are chosen seldom.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace qd1 {

/// Draws ranks from 0 to count - 1: rank k with a probability proportional to 1 / (k + 1)^theta, exactly but for the
/// rounding of doubles. By rejection-inversion (Hörmann and Derflinger, "Rejection-inversion to generate variates from
/// monotone discrete distributions", ACM TOMACS 6(3), 1996): no tables, and a draw takes the same time for any count.
///
/// The area under x^-theta is divided into a column for each rank, as wide as it is high at the middle. A point of the
/// area is chosen by its integral; if it lies beyond the column of its rank, another is chosen.
class zipf_ranks {
 public:
  zipf_ranks(double theta, std::uint64_t count) noexcept
      : theta_(theta),
        count_(static_cast<double>(count)),
        least_(integral(1.5) - 1),
        most_(integral(count_ + 0.5)),
        always_(2 - inverse(integral(2.5) - density(2))) {}

  /// `random()` returns 64 random bits.
  template <class Random>
  std::uint64_t operator()(Random&& random) const noexcept {
    for (;;) {
      const double part = static_cast<double>(random() >> 11) * 0x1p-53;
      const double area = most_ + part * (least_ - most_);
      const double x = inverse(area);
      const double rank = std::clamp(std::floor(x + 0.5), 1., count_);
      if (rank - x <= always_ || area >= integral(rank + 0.5) - density(rank))
        return static_cast<std::uint64_t>(rank) - 1;
    }
  }

 private:
  double density(double x) const noexcept { return std::exp(-theta_ * std::log(x)); }

  // Of the density from 1 to x: (x^(1 - theta) - 1) / (1 - theta), and log(x) where theta is 1.
  double integral(double x) const noexcept {
    const double log = std::log(x);
    const double power = (1 - theta_) * log;
    return std::abs(power) < tiny ? log * (1 + power / 2) : log * std::expm1(power) / power;
  }

  double inverse(double area) const noexcept {
    const double power = std::max(-1., (1 - theta_) * area);  // less by rounding only
    return std::exp(std::abs(power) < tiny ? area * (1 - power / 2) : area * std::log1p(power) / power);
  }

  static constexpr double tiny = 1e-8;  // the square of which doubles do not know beside 1

  double theta_;
  double count_;
  double least_;  // integrals at the ends
  double most_;
  double always_;  // points so near below a rank are always its own
};

}  // namespace qd1
