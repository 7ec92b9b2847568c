#include "tessera/privacy/accounting/zcdp.h"

#include <algorithm>
#include <cmath>

#include "tessera/privacy/accounting/checks.h"
#include "tessera/privacy/accounting/special_functions.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting {

namespace {

void expect_rho(const char* op, double rho) {
  if (!(rho >= 0))
    value_error(op, "expected a rho that is not negative, got {}; it is a divergence", rho);
}

// Returns the logarithm of the bound of delta at order 1 + t.
double log_delta(double rho, double epsilon, double t) {
  return t * ((t + 1) * rho - epsilon) - (t + 1) * std::log1p(t) + t * std::log(t);
}
// Returns the derivative of log_delta with respect to t.
double slope(double rho, double epsilon, double t) {
  return (2 * t + 1) * rho - epsilon - std::log1p(1 / t);
}

// Returns the minimum of log_delta over t. log_delta is convex in t, so the minimum is where the
// slope is zero.
double least_log_delta(double rho, double epsilon) {
  double upper = 1;
  while (slope(rho, epsilon, upper) <= 0) upper *= 2;
  double lower = upper;
  while (slope(rho, epsilon, lower) > 0) lower /= 2;
  const double t = internal::find_root([&](double x) { return slope(rho, epsilon, x); }, lower,
                                       upper, 1e-14 * lower);
  return std::min(0.0, log_delta(rho, epsilon, t));
}

}  // namespace

double gaussian_zcdp(double noise_multiplier) {
  if (!(noise_multiplier >= 0))
    value_error("privacy::gaussian_zcdp",
                "expected a noise multiplier that is not negative, got {}; 0 is no noise",
                noise_multiplier);
  return 1 / (2 * noise_multiplier * noise_multiplier);
}

double noise_multiplier_for_zcdp(double rho) {
  expect_rho("privacy::noise_multiplier_for_zcdp", rho);
  return 1 / std::sqrt(2 * rho);
}

double zcdp_to_delta(double rho, double epsilon) {
  expect_rho("privacy::zcdp_to_delta", rho);
  internal::expect_epsilon("privacy::zcdp_to_delta", epsilon);
  if (rho == 0 || std::isinf(epsilon)) return 0;
  if (std::isinf(rho)) return 1;
  return std::exp(least_log_delta(rho, epsilon));
}

double zcdp_to_epsilon(double rho, double delta) {
  expect_rho("privacy::zcdp_to_epsilon", rho);
  internal::expect_delta("privacy::zcdp_to_epsilon", delta);
  if (rho == 0 || delta == 1) return 0;
  if (delta == 0 || std::isinf(rho)) return kInfinity;
  const double log_target = std::log(delta);
  const auto excess = [&](double epsilon) { return least_log_delta(rho, epsilon) - log_target; };
  if (excess(0) <= 0) return 0;
  const double upper =
      rho + 2 * std::sqrt(-rho * log_target);  // Bun and Steinke 2016, proposition 1.3
  return internal::find_root(excess, 0, upper * (1 + 1e-12), 0);
}

double zcdp_from_epsilon(double epsilon, double delta) {
  internal::expect_epsilon("privacy::zcdp_from_epsilon", epsilon);
  internal::expect_delta("privacy::zcdp_from_epsilon", delta);
  if (delta == 1 || std::isinf(epsilon)) return kInfinity;
  if (delta == 0) return 0;
  const double log_target = std::log(delta);
  const auto excess = [&](double rho) { return least_log_delta(rho, epsilon) - log_target; };
  double upper = 1;
  while (excess(upper) <= 0) upper *= 2;
  double lower = upper;
  while (excess(lower) > 0) lower /= 2;
  return internal::find_root(excess, lower, upper, 0);
}

}  // namespace tessera::privacy::accounting
