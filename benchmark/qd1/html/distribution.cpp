// SPDX-License-Identifier: BSL-1.0
#include "distribution.hpp"

#include <algorithm>
#include <cmath>

namespace qd1::html {

distribution::distribution(const latency& from) : samples_(static_cast<double>(from.samples)) {
  if (from.samples == 0 || from.bins.empty()) return;
  quantiles_.push_back({0, from.min});
  std::uint64_t seen = 0;
  for (const bin& each : from.bins) {
    seen += each.count;
    const double fraction = (static_cast<double>(seen) - 0.5) / samples_;
    quantiles_.push_back({std::clamp(fraction, 0.0, 1.0), std::clamp(each.ns, from.min, from.max)});
  }
  quantiles_.back().ns = from.max;
}

double distribution::at(double fraction) const {
  const auto next = std::ranges::lower_bound(quantiles_, fraction, {}, &quantile::fraction);
  if (next == quantiles_.begin()) return quantiles_.front().ns;
  if (next == quantiles_.end()) return quantiles_.back().ns;
  const auto before = next - 1;
  const double part = (fraction - before->fraction) / (next->fraction - before->fraction);
  return before->ns + part * (next->ns - before->ns);
}

// All samples lie below the percentile with a probability of p^n; on one side 2.5 % may be missed. Not 1 - p: for more
// samples than anybody takes that is 0, which has no place on a logarithmic axis.
double distribution::unsupported() const { return samples_ == 0 ? 1 : -std::expm1(std::log(0.025) / samples_); }

double distribution::supported() const { return 1 - unsupported(); }

std::vector<banded> distribution::band() const {
  std::vector<banded> found;
  const double end = -std::log10(unsupported());
  constexpr int points_a_decade = 24;
  const int points = static_cast<int>(std::ceil(end * points_a_decade));
  for (int point = 0; point <= points; ++point) {
    const double fraction = 1 - std::pow(10, -end * point / std::max(points, 1));
    // The normal approximation of the binomial: the difference is invisible in a drawing, and printed intervals are
    // those of the report.
    const double half = 1.96 * std::sqrt(fraction * (1 - fraction) / samples_);
    found.push_back({fraction, {at(std::max(fraction - half, 0.0)), at(std::min(fraction + half, 1.0))}});
  }
  return found;
}

}  // namespace qd1::html
