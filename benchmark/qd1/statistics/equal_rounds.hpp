// SPDX-License-Identifier: BSL-1.0
// Percentiles and mean of a series that was measured in rounds. Each round has the same weight.
#pragma once

#include "report.hpp"
#include "statistics/serial_mean.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace qd1 {

/// What one round measured.
struct sampled_round {
  std::vector<bin> bins;  ///< ascending, none empty
  double mean = 0;        ///< ns, exact
  std::optional<std::uint64_t> processor;
};

/// Part of the samples that are at most `ns`.
struct fraction_step {
  double ns;
  double up_to;
};

/// Rounds end by time, so a fast round has more samples than a slow one, and percentiles of all samples together are
/// mostly those of the fast rounds. Here the fraction of samples below a latency is the mean of the rounds' fractions,
/// and a percentile is the latency at which that mean reaches it.
///
/// The interval of a percentile comes from how the rounds' fractions at it differ (R. S. Woodruff, Journal of the
/// American Statistical Association 47, 1952, with rounds as clusters), so samples within a round may depend on one
/// another in any way. It is withheld, with the reason, where the rounds do not support one:
/// - fewer than 8 rounds, or rounds that depend on one another so much that they are worth fewer than 8;
/// - fewer than 5 samples of a round expected beyond the percentile;
/// - rounds that fall into two levels, and stay on one for several rounds.
class equal_rounds {
 public:
  /// In the order of time. Rounds without samples are ignored.
  explicit equal_rounds(std::vector<sampled_round> rounds);

  estimate quantile(double fraction) const;

  /// Also withheld where a handful of samples determine the mean.
  estimate mean() const;

  /// The fraction of samples that took at most that long.
  double share_up_to(double ns) const;

 private:
  using steps = std::vector<fraction_step>;

  steps together(std::size_t first, std::size_t last) const;
  steps::const_iterator first_reaching(double fraction) const;
  double reaching(double fraction) const;
  std::vector<double> fractions_up_to(double ns) const;
  interval interval_of(double fraction, const serial_mean& at, double least_correlation) const;
  std::string why_unsupported() const;
  double correlation_of_medians() const;

  std::vector<sampled_round> rounds_;
  std::vector<double> samples_;          // of each round
  std::vector<double> medians_;          // of each round
  std::vector<std::size_t> processors_;  // of each round, numbered from 0; empty: not all are known
  std::vector<steps> of_rounds_;
  steps steps_;  // of all rounds, with the mean of their fractions
};

/// Operations a second, or what is in proportion to them, with an interval from how the rates of the rounds differ.
/// Rounds end by time, so the rate of all of them is the mean of theirs. Withheld where a percentile's is, for the same
/// reasons.
estimate rate_of_rounds(double rate, std::span<const round> rounds);

}  // namespace qd1
