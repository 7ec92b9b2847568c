#include "tessera/ops/core/scalar_math.h"

#include <numbers>

namespace tessera::ops::scalar {

Complex atan2(Complex y, Complex x) {
  const Complex i(0, 1);
  return -i * std::log((x + i * y) / std::sqrt(x * x + y * y));
}

double erf_inv(double x) {
  if (!(std::abs(x) < 1)) return std::abs(x) == 1 ? std::copysign(HUGE_VAL, x) : NAN;
  if (x == 0) return x;
  // Winitzki's approximation (to 2e-3), then Newton's steps. Beyond 0.5 the steps use erfc, because
  // 1 - erf would lose digits.
  const double l = std::log1p(-x * x), a = 0.147, t = 2 / (std::numbers::pi * a) + l / 2;
  double y = std::sqrt(std::sqrt(t * t - l / a) - t);
  const double p = std::abs(x);
  for (int step = 0; step < 6; ++step) {
    const double error = p < 0.5 ? std::erf(y) - p : (1 - p) - std::erfc(y);
    const double u = error / (2 * std::numbers::inv_sqrtpi * std::exp(-y * y));
    y -= u / (1 + y * u);  // Halley: the second derivative is -2y times the first
  }
  return std::copysign(y, x);
}

double lgamma(double x) {
  int sign;
  return ::lgamma_r(x, &sign);  // std::lgamma writes a global
}

namespace {

// Computed in long double, because near each root the terms cancel.
long double digamma_of(long double x) {
  if (x < 0) {
    // The reflection formula. The angle is computed from the distance to the nearest integer, which
    // is exact.
    const long double angle = std::numbers::pi_v<long double> * (x - std::round(x));
    return digamma_of(1 - x) - std::numbers::pi_v<long double> / std::tan(angle);
  }
  // Near the positive root the Taylor series is used.
  constexpr long double kRoot = 1.4616321449683622L, kRootLow = 9.549995429965697e-17L;
  if (std::abs(x - kRoot) < 5e-3L) {
    const long double h = (x - kRoot) - kRootLow;
    constexpr double c[] = {0.9676722454476212,  -0.4427631689835921, 0.258499760955651,
                            -0.1639427054424065, 0.1078240506912624,  -0.0721995612564547,
                            0.0488042881641431};
    long double sum = 0;
    for (int k = 6; k >= 0; --k) sum = c[k] + h * sum;
    return h * sum;
  }
  long double shift = 0;
  for (; x < 12; x += 1) shift += 1 / x;
  const long double r = 1 / (x * x);
  // Asymptotic series, DLMF 5.11.2: Bernoulli numbers B2k / 2k.
  const long double series =
      r *
      (1.0L / 12 - r * (1.0L / 120 -
                        r * (1.0L / 252 -
                             r * (1.0L / 240 - r * (1.0L / 132 - r * (691.0L / 32760 - r / 12))))));
  return std::log(x) - 0.5L / x - series - shift;
}

}  // namespace

double digamma(double x) {
  if (std::isinf(x)) return x > 0 ? x : NAN;
  if (x == 0) return -1 / x;                    // an infinity, as in SciPy
  if (x < 0 && x == std::floor(x)) return NAN;  // x is a pole
  return static_cast<double>(digamma_of(x));
}

}  // namespace tessera::ops::scalar
