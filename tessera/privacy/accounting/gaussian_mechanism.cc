#include "tessera/privacy/accounting/gaussian_mechanism.h"

#include <algorithm>
#include <cmath>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace {

void expect_sigma(const char* op, double sigma) {
  if (!(sigma >= 0))
    value_error(op, "expected a sigma that is not negative, got {}; it is a standard deviation",
                sigma);
}

}  // namespace

// exp(epsilon) phi(lower) equals phi(upper) exactly; computing it from the exponents would lose
// digits to cancellation.
double internal::log_delta_gaussian(double sigma, double epsilon) {
  const double upper = 0.5 / sigma - epsilon * sigma, lower = -0.5 / sigma - epsilon * sigma;
  const double log_ratio = internal::log_mills_ratio(-lower) - internal::log_mills_ratio(-upper);
  return log_ratio >= 0 ? -kInfinity
                        : internal::log_normal_cdf(upper) + std::log1p(-std::exp(log_ratio));
}

double get_delta_gaussian(double sigma, double epsilon) {
  expect_sigma("privacy::get_delta_gaussian", sigma);
  if (std::isnan(epsilon))
    value_error("privacy::get_delta_gaussian", "expected an epsilon, got {}; give a number",
                epsilon);
  if (std::isinf(epsilon)) return epsilon > 0 ? 0 : 1;
  if (sigma == 0) return 1;
  if (std::isinf(sigma)) return std::max(0.0, -std::expm1(epsilon));
  return std::exp(internal::log_delta_gaussian(sigma, epsilon));
}

double get_epsilon_gaussian(double sigma, double delta) {
  expect_sigma("privacy::get_epsilon_gaussian", sigma);
  internal::expect_delta("privacy::get_epsilon_gaussian", delta);
  if (delta == 1 || std::isinf(sigma)) return 0;
  if (delta == 0 || sigma == 0) return kInfinity;
  const double target = std::log(delta);
  const auto excess = [&](double epsilon) {
    return internal::log_delta_gaussian(sigma, epsilon) - target;
  };
  if (excess(0) <= 0) return 0;
  double lower = 0, upper = 1;
  while (excess(upper) > 0) lower = upper, upper *= 2;
  return internal::find_root(excess, lower, upper, 0);
}

double get_sigma_gaussian(double epsilon, double delta) {
  internal::expect_epsilon("privacy::get_sigma_gaussian", epsilon);
  internal::expect_delta("privacy::get_sigma_gaussian", delta);
  if (delta == 1 || std::isinf(epsilon)) return 0;
  if (delta == 0) return kInfinity;
  const double target = std::log(delta);
  const auto excess = [&](double sigma) {
    return internal::log_delta_gaussian(sigma, epsilon) - target;
  };
  double upper = 1;
  while (excess(upper) > 0) upper *= 2;
  double lower = upper;
  while (excess(lower) <= 0) lower /= 2;
  return internal::find_root(excess, lower, upper, 0);
}

}  // namespace tessera::privacy::accounting
