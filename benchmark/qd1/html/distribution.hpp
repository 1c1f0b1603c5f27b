// SPDX-License-Identifier: BSL-1.0
// The latency at any percentile, from the bins, for drawing.
#pragma once

#include "../report.hpp"

#include <cstdint>
#include <vector>

namespace qd1::html {

/// That part of the samples took at most that long.
struct quantile {
  double fraction;
  double ns;
};

struct banded {
  double fraction;
  interval bounds;
};

class distribution {
 public:
  explicit distribution(const latency& from);

  bool empty() const { return quantiles_.empty(); }

  /// From the minimum to the maximum, rising in both. The last sample stands for the half of its share, since
  /// 1 − p = 0 has no place on a logarithmic axis.
  const std::vector<quantile>& quantiles() const { return quantiles_; }

  /// The distribution must not be empty.
  double at(double fraction) const;

  /// Up to there both ends of a 95 % interval exist.
  double supported() const;

  /// From the first percentile that has an interval to the last: these intervals, and between them as wide as their
  /// neighbors', close enough to each other to be drawn as a band.
  std::vector<banded> band() const;

 private:
  double unsupported() const;

  double samples_;
  std::vector<quantile> quantiles_;
  std::vector<banded> known_;  // intervals as multiples of the percentile
};

}  // namespace qd1::html
