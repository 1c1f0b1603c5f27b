// SPDX-License-Identifier: BSL-1.0
// Quantiles and probabilities of distributions. Boost.Math, which takes seconds to compile, is included by one source.
#pragma once

namespace qd1 {

/// Of Student's t distribution with that many degrees of freedom.
double student_t_quantile(double freedom, double probability);

/// The probability that such a value is further from 0 than this, on either side.
double student_t_beyond(double freedom, double value);

/// A quantile of the beta distribution with both parameters equal to `shape`.
double symmetric_beta_quantile(double shape, double probability);

/// A quantile of the number of successes in `trials` independent trials, each with this chance.
double binomial_quantile(double trials, double chance, double probability);
/// The probability of at most `successes`.
double binomial_at_most(double trials, double chance, double successes);

}  // namespace qd1
