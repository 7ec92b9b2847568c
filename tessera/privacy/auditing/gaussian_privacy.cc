#include "tessera/privacy/auditing/gaussian_privacy.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>

#include "tessera/privacy/accounting/gaussian_mechanism.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/auditing/root.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::auditing::internal {
namespace {

constexpr double kRootHalf = 0.70710678118654752440;

}  // namespace

double normal_cdf(double x) { return accounting::internal::normal_cdf(x); }

double normal_quantile(double p) {
  if (p <= 0) return -kInfinity;
  if (p >= 1) return kInfinity;
  return -boost::math::erfc_inv(2 * p) / kRootHalf;
}

double log_delta(double epsilon, double mu) {
  return accounting::internal::log_delta_gaussian(1 / mu, epsilon);
}

double epsilon_of(double mu, double delta) {
  const auto excess = [&](double epsilon) { return log_delta(epsilon, mu) - std::log(delta); };
  if (!(excess(0) > 0)) return 0;
  double high = 1;
  while (excess(high) > 0) high *= 2;
  return last_positive(excess, high == 1 ? 0 : high / 2, high);
}

double mu_of(double epsilon, double delta) {
  const auto lacks = [&](double mu) { return std::log(delta) - log_delta(epsilon, mu); };
  double low = 1, high = 1;
  while (!(lacks(low) > 0)) low /= 2;
  while (lacks(high) > 0) high *= 2;
  return last_positive(lacks, low, high);
}

}  // namespace tessera::privacy::auditing::internal
