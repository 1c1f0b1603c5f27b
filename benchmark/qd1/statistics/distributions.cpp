// SPDX-License-Identifier: BSL-1.0
#include "statistics/distributions.hpp"

#include <boost/math/distributions/beta.hpp>
#include <boost/math/distributions/binomial.hpp>
#include <boost/math/distributions/students_t.hpp>

#include <cmath>

namespace qd1 {
namespace {

namespace math = boost::math;
using plain_double = math::policies::policy<math::policies::promote_double<false>>;
using binomial = math::binomial_distribution<double, plain_double>;

}  // namespace

double student_t_quantile(double freedom, double probability) {
  return quantile(math::students_t_distribution<double, plain_double>(freedom), probability);
}

double student_t_beyond(double freedom, double value) {
  const math::students_t_distribution<double, plain_double> of(freedom);
  return 2 * cdf(complement(of, std::abs(value)));
}

double symmetric_beta_quantile(double shape, double probability) {
  return quantile(math::beta_distribution<double, plain_double>(shape, shape), probability);
}

double binomial_quantile(double trials, double chance, double probability) {
  return quantile(binomial(trials, chance), probability);
}

double binomial_at_most(double trials, double chance, double successes) {
  return cdf(binomial(trials, chance), successes);
}

}  // namespace qd1
