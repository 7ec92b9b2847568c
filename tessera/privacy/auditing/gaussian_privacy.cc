#include "tessera/privacy/auditing/gaussian_privacy.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <limits>

#include "tessera/privacy/auditing/root.h"

namespace tessera::privacy::auditing::internal {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRootHalf = 0.70710678118654752440, kLogRootTau = 0.91893853320467274178;

double log_normal_cdf(double x) {
  if (x > -30) return std::log(normal_cdf(x));
  // Below, erfc underflows: the asymptotic series of Mills' ratio, whose next term is 2e-14
  // or less there.
  const double t = 1 / (x * x);
  const double series = 1 - t * (1 - 3 * t * (1 - 5 * t * (1 - 7 * t * (1 - 9 * t))));
  return -x * x / 2 - std::log(-x) - kLogRootTau + std::log(series);
}

}  // namespace

double normal_cdf(double x) { return boost::math::erfc(-x * kRootHalf) / 2; }

double normal_quantile(double p) {
  if (p <= 0) return -kInfinity;
  if (p >= 1) return kInfinity;
  return -boost::math::erfc_inv(2 * p) / kRootHalf;
}

double log_delta(double epsilon, double mu) {
  const double x = log_normal_cdf(mu / 2 - epsilon / mu);
  const double y = epsilon + log_normal_cdf(-mu / 2 - epsilon / mu);
  return y < x ? x + std::log(-std::expm1(y - x)) : -kInfinity;
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
