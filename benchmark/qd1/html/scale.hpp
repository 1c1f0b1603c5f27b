// SPDX-License-Identifier: BSL-1.0
// From quantities to places along an axis: 0 is its beginning, 1 its end.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace qd1::html {

struct tick {
  double at;
  std::string label;
  bool minor = false;  ///< the first to go where there is no room
};

/// Logarithmic, for latencies in nanoseconds. Both ends are moved outwards to 1, 2 or 5 times a power of ten.
class log_scale {
 public:
  log_scale(double low, double high);

  /// Values outside are at the ends.
  double operator()(double ns) const;
  /// At 1, 2 and 5 times powers of ten, or at those alone where that would be more than `most`, or at every second of
  /// them, or third.
  std::vector<tick> ticks(std::size_t most = 8) const;

  /// log10 of the ends, for code that maps places back to values.
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  double low_;
  double high_;
};

/// For amounts and counts: linear from zero, or logarithmic if `low` is given and the two are far apart. The upper end
/// is moved outwards to a round number, and so is the lower one of a logarithmic scale.
class count_scale {
 public:
  explicit count_scale(double high, double low = 0);

  double operator()(double count) const;
  std::vector<tick> ticks() const;

  bool is_logarithmic() const { return logarithmic_; }
  /// The ends; of a logarithmic scale, their log10.
  double low() const { return low_; }
  double high() const { return high_; }

 private:
  bool logarithmic_;
  double low_ = 0;
  double high_ = 1;
  double step_ = 1;
};

/// −log10(1 − p): 90 %, 99 %, 99.9 % are equally far from each other, as the tail deserves.
class percentile_scale {
 public:
  /// Ends at 1 − 10^−decades.
  explicit percentile_scale(double decades) : decades_(decades) {}

  double operator()(double fraction) const;
  std::vector<tick> ticks() const;
  double decades() const { return decades_; }

 private:
  double decades_;
};

}  // namespace qd1::html
