// SPDX-License-Identifier: BSL-1.0
#include "distribution.hpp"

#include <algorithm>
#include <cmath>

namespace qd1::html {

distribution::distribution(const latency& from) : samples_(static_cast<double>(from.samples)) {
  if (from.samples == 0 || from.bins.empty()) return;
  quantiles_.push_back({0, from.min});
  std::uint64_t seen = 0;
  for (std::size_t each = 0; each < from.bins.size(); ++each) {
    seen += from.bins[each].count;
    const double share = from.shares.empty() ? static_cast<double>(seen) / samples_ : from.shares[each];
    quantiles_.push_back(
        {std::clamp(share - 0.5 / samples_, 0.0, 1.0), std::clamp(from.bins[each].ns, from.min, from.max)});
  }
  quantiles_.back().ns = from.max;
  for (const percentile& each : from.percentiles)
    if (each.value && each.value->interval && each.value->value > 0)
      known_.push_back(
          {each.fraction,
           {each.value->interval->low / each.value->value, each.value->interval->high / each.value->value}});
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
  const auto add = [&](double fraction, double low, double high) {
    found.push_back({fraction, {at(fraction) * std::min(low, 1.), at(fraction) * std::max(high, 1.)}});
  };
  for (std::size_t next = 1; next < known_.size(); ++next) {
    const auto& [from, begin] = known_[next - 1];
    const auto& [to, end] = known_[next];
    constexpr int points = 48;
    for (int point = next == 1 ? 0 : 1; point <= points; ++point) {
      const double part = static_cast<double>(point) / points;
      // Evenly on an axis of nines.
      const double fraction = point == points ? to : 1 - (1 - from) * std::pow((1 - to) / (1 - from), part);
      add(fraction, std::lerp(begin.low, end.low, part), std::lerp(begin.high, end.high, part));
    }
  }
  return found;
}

}  // namespace qd1::html
