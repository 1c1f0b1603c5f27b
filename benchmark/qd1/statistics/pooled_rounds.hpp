// SPDX-License-Identifier: BSL-1.0
// Percentiles and mean of all samples of a series that was measured in rounds, with intervals from how rounds differ.
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

/// Percentiles and mean describe all samples together, whichever round they are in.
///
/// Their intervals come from how the rounds differ, so samples within a round may depend on one another in any way.
/// Rounds end by time, so they have different numbers of samples, and what is below a latency is a ratio: of the
/// samples of all rounds that are, to all. Its variance is that of the pseudo-values of the jackknife that leaves out
/// one round (J. W. Tukey, 1958), which are the fractions of the rounds themselves if all have the same number of
/// samples. The interval of a percentile is that of the fraction at it (R. S. Woodruff, Journal of the American
/// Statistical Association 47, 1952). It is withheld, with the reason, where the rounds do not support one:
/// - fewer than 8 rounds, or rounds that are worth fewer than 8, because neighbors are alike or a few of them have most
///   of the samples;
/// - fewer than 5 samples of an average round expected beyond the percentile, or those beyond it from a few rounds;
/// - rounds that fall into two levels, and stay on one for several rounds.
class pooled_rounds {
 public:
  /// In the order of time. Rounds without samples are ignored.
  explicit pooled_rounds(std::vector<sampled_round> rounds);

  estimate quantile(double fraction) const;

  /// Also withheld where a handful of samples determine the mean.
  estimate mean() const;

 private:
  using steps = std::vector<fraction_step>;

  std::vector<bin> together(std::size_t first, std::size_t last) const;
  steps::const_iterator first_reaching(double fraction) const;
  double reaching(double fraction) const;
  serial_mean fraction_at(double ns, double least_correlation) const;
  interval interval_of(double fraction, const serial_mean& at, double least_correlation) const;
  std::string why_unsupported() const;
  std::string too_few_rounds_beyond(double fraction) const;
  double correlation_of_medians() const;

  std::vector<sampled_round> rounds_;
  std::vector<double> samples_;          // of each round
  std::vector<std::size_t> processors_;  // of each round, numbered from 0; empty: not all are known
  std::vector<steps> of_rounds_;
  steps steps_;  // of all rounds

  // Only from rounds that have enough samples for one.
  std::vector<double> medians_;
  std::vector<std::size_t> processors_of_medians_;
};

/// The percentile if each round had the same weight, however many samples it has. Counts only rounds that have samples
/// enough for it. None: fewer than half of the rounds do.
std::optional<double> quantile_by_rounds(std::span<const sampled_round> rounds, double fraction);

/// Operations a second, or what is in proportion to them, with an interval from how the rates of the rounds differ.
/// Withheld where a percentile's is, for the same reasons.
estimate rate_of_rounds(double rate, std::span<const round> rounds);

}  // namespace qd1
