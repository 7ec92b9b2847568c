// Exponential integrals and the dilogarithm.
#include <array>
#include <numbers>

#include "tessera/numpy/creation.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/ops/special/series.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"
#include "tessera/scipy/special/iteration.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace exponential_integrals {
namespace {

using ops::special::chebyshev;

// Returns E1(x) for x > 0. Up to 1 it is a logarithm plus an entire function with a Chebyshev
// series; beyond, x exp(x) E1(x) has such a series in (x - 3) / (x + 1).
Array e1_of_positive(const Array& x) {
  const Array is_small = x <= 1;
  const Array small = where(is_small, x, 1), large = where(is_small, 1, x);
  const Array near =
      small * chebyshev(internal::kE1Small, 2 * small - 1) - log(small) - std::numbers::egamma;
  const Array far = exp(-large) / large * chebyshev(internal::kE1Large, 1 - 4 / (large + 1));
  return where(is_small, near, far);
}

Array e1(const Array& x) {
  const Array positive = x > 0;
  const Array value = e1_of_positive(where(positive, x, 1));
  return where(positive, value, where(x == 0, inf_like(x), nan_like(x)));
}

// Returns Ei(x) for x > 0. Up to 6 it is a logarithm plus an entire function; beyond, x exp(-x)
// Ei(x) has Chebyshev series in 1 / x for [6, 12], [12, 24], [24, 48] and above 48.
Array ei_of_positive(const Array& x) {
  const Array is_small = x <= 6;
  const Array small = where(is_small, x, 1), large = where(is_small, 6, x);
  const Array near =
      small * chebyshev(internal::kEiSmall, small / 3 - 1) + log(small) + std::numbers::egamma;
  // Maps 1 / x to [-1, 1] if x is between low and high.
  const Array inverse = 1 / large;
  const auto piece = [&](std::span<const double> series, double low, double high) {
    const double a = 1 / high, b = 1 / low;
    const Array v = clip(inverse, a, b);
    return chebyshev(series, (2 * v - (a + b)) / (b - a));
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const Array scaled = where(large <= 12, piece(internal::kEiA, 6, 12),
                             where(large <= 24, piece(internal::kEiB, 12, 24),
                                   where(large <= 48, piece(internal::kEiC, 24, 48),
                                         piece(internal::kEiD, 48, infinity))));
  // exp is computed in two factors, which overflow only if the result does.
  const Array root = exp(0.5 * large);
  const Array far = where(isfinite(large), root * (scaled * inverse) * root, large);
  return where(is_small, near, far);
}

Array ei(const Array& x) {
  const Array positive = x > 0, negative = x < 0;
  const Array right = ei_of_positive(where(positive, x, 1));
  const Array left = -e1_of_positive(where(negative, -x, 1));
  return where(positive, right, where(negative, left, where(x == 0, -inf_like(x), nan_like(x))));
}

Array ei_with_slope(const Array& x) {
  return with_slope(x, ei, [](const Array& x, const Array&) { return exp(x) / x; });
}

Array e1_with_slope(const Array& x) {
  return with_slope(x, e1, [](const Array& x, const Array&) { return -exp(-x) / x; });
}

// Returns E_n(x) for n >= 1 and 0 < x <= 1 (DLMF 8.19.8).
Array en_by_series(const Array& n, const Array& x) {
  constexpr int kTerms = 20;
  // `power` is (-x)^k / k!, `singular` the same for k = n - 1 if that is one of the terms.
  Array power = ones_like(x), singular = zeros_like(x), sum = zeros_like(x);
  for (int k = 0; k < kTerms; ++k) {
    const Array at_pole = n == k + 1;
    const Array divisor = where(at_pole, 1, k + 1 - n);
    sum = sum - where(at_pole, 0, power / divisor);
    singular = where(at_pole, power, singular);
    power = power * (-x / (k + 1));
  }
  return singular * (lax::digamma(n) - log(x)) + sum;
}

// Returns E_n(x) for n >= 1 and x > 1 (the even part of DLMF 8.19.17).
Array en_by_fraction(const Array& n, const Array& x, const Array& enabled) {
  constexpr double kLimit = 2000;
  const Array fraction = internal::continued_fraction(x + n, enabled, kLimit, [&](const Array& k) {
    return std::pair(-k * (n + k - 1), x + n + 2 * k);
  });
  return exp(-x) / fraction;
}

Array en(const Array& order, const Array& x) {
  const Array n = floor(order);
  const Array valid = (n >= 0) & isfinite(n) & (x >= 0);
  const Array regular = valid & (n >= 1) & (x > 0) & isfinite(x);
  const Array by_fraction = regular & (x > 1), by_series = regular & ~by_fraction;
  const Array series = en_by_series(where(by_series, n, 1), where(by_series, x, 1));
  const Array fraction =
      en_by_fraction(where(by_fraction, n, 1), where(by_fraction, x, 2), by_fraction);
  const Array px = where(x > 0, x, 1);
  const Array at_zero = where(n >= 2, 1 / where(n >= 2, n - 1, 1), inf_like(x));
  const Array rest = where(x == 0, at_zero, where(x == inf_like(x), 0, exp(-px) / px));
  const Array value = where(by_fraction, fraction, where(by_series, series, rest));
  return where(valid, value, nan_like(x));
}

// Returns -E_{n - 1}(x), or for n = 0 the derivative of exp(-x) / x.
Array en_slope(const Array& order, const Array& x) {
  const Array n = floor(order), first = n < 1;
  const Array px = where(x > 0, x, 1);
  const Array of_first = where(x == 0, -inf_like(x), -(px + 1) * exp(-px) / (px * px));
  const Array of_others = -en(where(first, 1, n - 1), x);
  const Array valid = (n >= 0) & (x >= 0);
  return where(valid, where(first, of_first, of_others), nan_like(x));
}

// Returns the sum of B_k u^(k + 1) / (k + 1)! with Bernoulli numbers B_k: the dilogarithm of 1 -
// exp(-u) for |u| <= log 2.
Array dilogarithm_series(const Array& u) {
  constexpr std::array kTerms = {1.0 / 36,
                                 -1.0 / 3600,
                                 1.0 / 211680,
                                 -1.0 / 10886400,
                                 1.0 / 526901760,
                                 -4.0647616451442255e-11,
                                 8.9216910204564526e-13,
                                 -1.9939295860721076e-14,
                                 4.5189800296199182e-16,
                                 -1.0356517612182470e-17};
  const Array r = u * u;
  return u - 0.25 * r + u * r * ops::special::polynomial(kTerms, r);
}

// Uses the series on [1/2, 2], to which reflection leads from below and inversion from above (DLMF
// 25.12.4 and 25.12.6, with 1 - x for z).
Array dilogarithm(const Array& x) {
  const Array low = x<0.5, high = x> 2, valid = x > 0;
  const Array inner = where(low | high | ~valid, 1, x);
  const Array lx = where(low & valid, x, 0.25), hx = where(high, x, 4);
  const Array u = where(low, -log1p(-lx), where(high, log1p(-1 / hx), -log(inner)));
  const Array series = dilogarithm_series(u);
  const double sixth = std::numbers::pi * std::numbers::pi / 6;
  const Array reflected = sixth - log(lx) * log1p(-lx) - series;
  const Array far = log(hx - 1), inverted = -sixth - 0.5 * far * far - series;
  const Array value = where(low, reflected, where(high, inverted, series));
  return where(valid, value, where(x == 0, sixth, nan_like(x)));
}

}  // namespace
}  // namespace exponential_integrals

using namespace exponential_integrals;

Array expi(const Array& x) {
  return pointwise("expi", {x}, [](std::span<const Array> a) { return ei_with_slope(a[0]); });
}

Array exp1(const Array& x) {
  return pointwise("exp1", {x}, [](std::span<const Array> a) { return e1_with_slope(a[0]); });
}

Array expn(const Array& n, const Array& x) {
  return pointwise("expn", {n, x}, [](std::span<const Array> a) {
    return with_slopes(
        a[0], a[1], en, [](const Array&, const Array& x, const Array&) { return zeros_like(x); },
        [](const Array& n, const Array& x, const Array&) { return en_slope(n, x); });
  });
}

Array spence(const Array& x) {
  return pointwise("spence", {x}, [](std::span<const Array> a) {
    return with_slope(a[0], dilogarithm, [](const Array& x, const Array&) {
      const Array at_one = x == 1;
      const Array v = where(at_one, 2, x);
      return where(at_one, -1, log(v) / (1 - v));
    });
  });
}

}  // namespace tessera::scipy::special
