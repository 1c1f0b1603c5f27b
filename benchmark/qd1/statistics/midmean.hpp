// SPDX-License-Identifier: BSL-1.0
// The location of values in a sequence that depend on those before them and have outliers.
#pragma once

#include <span>

namespace qd1 {

struct location {
  double value = 0;
  double variance = 0;  ///< of `value`
  double single = 0;    ///< of one value as it might come next
  double freedom = 0;   ///< degrees of it, for Student's t
};

/// The mean of the middle half, so that a quarter of the values on either side may be anything. Its variance is from
/// the winsorized values (K. K. Yuen, The two-sample trimmed t for unequal population variances, Biometrika 61, 1974),
/// and larger the more each value resembles the one before it: by (1 + r) / (1 - r) for a correlation r of neighbors,
/// as in a process of first order. Few values let r appear smaller than it is, by (1 + 3 r) / n (M. G. Kendall, Note on
/// bias in the estimation of autocorrelation, Biometrika 41, 1954), for which it is corrected. `in_order` of time, at
/// least four.
location midmean(std::span<const double> in_order);

}  // namespace qd1
