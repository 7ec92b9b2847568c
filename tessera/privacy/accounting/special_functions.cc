#include "tessera/privacy/accounting/special_functions.h"

#include <algorithm>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <tuple>

#include "tessera/base/format.h"
#include "tessera/privacy/infinity.h"

namespace tessera::privacy::accounting::internal {

namespace {

constexpr double kLogSqrt2Pi = 0.91893853320467274178;

double log_gamma(double x) {
  int sign;  // passed because lgamma writes a global variable
  return lgamma_r(x, &sign);
}

}  // namespace

double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -kInfinity || a == kInfinity ? a : a + std::log1p(std::exp(b - a));
}

double log_expm1(double x) {
  return x > 30 ? x + std::log1p(-std::exp(-x)) : std::log(std::expm1(x));
}

double normal_cdf(double x) { return 0.5 * std::erfc(-x * M_SQRT1_2); }

double log_mills_ratio(double x) {
  if (x < 30) return std::log(normal_cdf(-x)) + x * x / 2 + kLogSqrt2Pi;
  // The asymptotic series 1 - 1/x^2 + 3/x^4 - 15/x^6 + ...; the first term left out is below 1e-17.
  double sum = 0, term = 1;
  for (int k = 1; k <= 9; ++k) {
    sum += term;
    term *= -(2 * k - 1) / (x * x);
  }
  return std::log(sum) - std::log(x);
}

double log_normal_cdf(double x) {
  if (x > 0) return std::log1p(-normal_cdf(-x));
  if (x > -30) return std::log(normal_cdf(x));
  return std::isinf(x) ? x : log_mills_ratio(-x) - x * x / 2 - kLogSqrt2Pi;
}

double normal_quantile_from_log(double log_p) {
  double lower = -1;
  while (log_normal_cdf(lower) > log_p) lower *= 2;
  double upper = 40;
  while (upper - lower > 1e-13 * std::max(1.0, std::abs(lower))) {
    const double middle = (lower + upper) / 2;
    if (middle == lower || middle == upper) break;
    (log_normal_cdf(middle) > log_p ? upper : lower) = middle;
  }
  return lower;
}

double log_binomial(double n, int64_t k) {
  const double k_real = static_cast<double>(k);
  return log_gamma(n + 1) - log_gamma(k_real + 1) - log_gamma(n - k_real + 1);
}

double find_root(const std::function<double(double)>& f, double lower, double upper,
                 double tolerance) {
  double a = lower, b = upper, fa = f(a), fb = f(b);
  TESSERA_CHECK((fa <= 0) != (fb <= 0), "no change of sign between {} and {}", lower, upper);
  const bool decreasing = fb <= 0;
  const auto close = [&](double x, double y) {
    return std::abs(y - x) <= std::max(tolerance, 4e-16 * std::max(std::abs(x), std::abs(y)));
  };
  while (!(std::isfinite(fa) && std::isfinite(fb)) && !close(a, b)) {
    const double middle = a + (b - a) / 2, value = f(middle);
    if ((value <= 0) == (fa <= 0))
      a = middle, fa = value;
    else
      b = middle, fb = value;
  }
  if (fa != 0 && fb != 0 && !close(a, b)) {
    uintmax_t steps = 500;  // toms748 takes about ten
    std::tie(a, b) = boost::math::tools::toms748_solve(f, a, b, fa, fb, close, steps);
  } else if (fa == 0) {
    return a;
  }
  return decreasing ? b : a;
}

}  // namespace tessera::privacy::accounting::internal
