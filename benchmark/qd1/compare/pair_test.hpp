// SPDX-License-Identifier: BSL-1.0
// Whether two things differ, decided from pairs of runs while they are made.
#pragma once

#include "report.hpp"

#include <cstddef>
#include <optional>
#include <vector>

namespace qd1 {

/// Add a pair, ask for the verdict, and stop when it is decided: the interval holds however often it is looked at.
///
/// In each pair, chance must have decided which of the two ran first. Then chance also decided the sign of whatever
/// makes the logarithm of the ratio differ from the true one, because that is a difference between the first run and
/// the second. So the signs are independent whatever the noise is: it may drift, depend on the past, or have no
/// variance. The interval holds all ratios for which the signs are not too one-sided. It rests on
/// E exp(l z - l² z² / 2) <= 1 for any z whose sign is random and any l, mixed over l (V. de la Peña, Annals of
/// Probability 27, 1999), and on J. Ville's inequality for all numbers of pairs together.
class pair_test {
 public:
  /// `effect`: the difference to be found, 0.02 for 2 %. `error`: how often the interval may miss the true ratio at any
  /// time.
  pair_test(double effect, double error);

  /// Both more than 0.
  void add(double base, double now);
  std::size_t pairs() const noexcept { return differences_.size(); }

  /// faster, slower: the interval does not contain 1, so they differ. none: all of the interval is within the effect,
  /// so a difference of this size would have been found.
  detected verdict() const;
  /// now / base. No interval: too few pairs to exclude anything.
  estimate ratio() const;

 private:
  double sum(double difference) const;
  double evidence(double difference) const;
  double middle() const;
  std::optional<double> limit(double middle, double direction) const;

  double effect_;  // as a logarithm
  double enough_;  // evidence against a ratio outside the interval
  std::vector<double> differences_;
  std::vector<double> scales_;  // how far differences scatter, by those before
};

}  // namespace qd1
