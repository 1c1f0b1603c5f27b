// SPDX-License-Identifier: BSL-1.0
// The mean of values that come one after the other and resemble their neighbors.
#pragma once

#include <cstddef>
#include <span>

namespace qd1 {

struct serial_mean {
  double value = 0;
  double independent_variance = 0;  ///< of `value`, were the values independent
  double variance = 0;              ///< … as they are
  double freedom = 0;               ///< degrees of freedom of Student's t
  double effective = 0;             ///< number of independent values that would be worth as much
  double correlation = 0;           ///< of neighbors, as it is believed to be
  bool suspect = false;             ///< neighbors are more alike than independent values are once in 50 times
  double chance = 1;                ///< that independent values are as much alike, at most: in a few steps

  double error_if_independent() const;
  /// Half the width of the two-sided 95 % interval.
  double half_width() const;
};

/// The mean of at least four values in the order of time.
///
/// Where `groups` are given, one for each value, the values are compared within their group: rounds that run on
/// different CPUs may have different levels, and the design, not chance, decides which round runs where. A design in
/// which some group has a single value is ignored.
///
/// The variance is multiplied by (1 + r) / (1 - r), as in a process of first order. r is the correlation of neighbors,
/// corrected for the bias that it has in short series (M. G. Kendall, Biometrika 41, 1954), plus 0.4 of its standard
/// error: underestimating r costs more coverage than overestimating it costs width. t has as many degrees of freedom as
/// there are effective values, less one. Neighbors are tested by the ratio of J. von Neumann (1941). Where independent
/// values would be as much alike once in 50 times, a whole standard error is added to r; where once in 50,000 times,
/// the effective values are counted by r, and else taken to be all. r is at least `least_correlation`.
serial_mean mean_in_order(std::span<const double> values, std::span<const std::size_t> groups = {},
                          double least_correlation = 0);

/// The mean of at least two values that are independent.
serial_mean plain_mean(std::span<const double> values);

}  // namespace qd1
