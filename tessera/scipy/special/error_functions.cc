// Error functions, their inverses, Dawson's integral and the normal distribution.
#include <cmath>
#include <numbers>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/special/series.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"
#include "tessera/scipy/special/scaled_erfc.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace internal {
namespace {

// Returns exp(x^2) without the error that rounding x^2 makes: x = h + l, and h^2 is exact.
Array exp_of_square(const Array& x) {
  const Array h = lax::round(x * 64, lax::RoundingMethod::kToNearestEven) / 64, l = x - h;
  const Array rest = exp(l * (x + h));
  return where(isfinite(x), exp(h * h) * where(isfinite(x), rest, 1), exp(x * x));
}

// Maps x >= 0 to [-1, 1), where the Chebyshev polynomials are: (x - 3.75) / (x + 3.75).
Array chebyshev_point(const Array& x) { return 1 - 7.5 / (x + 3.75); }

}  // namespace

// M. Shepherd and J. Laframboise, Math. Comp. 36 (1981), 249-253: (1 + 2 x) erfcx(x) is a smooth
// function of (x - k) / (x + k) for all x >= 0.
Array scaled_erfc(const Array& x) {
  const Array y = abs(x), positive = x >= 0;
  const Array value = ops::special::chebyshev(kErfcx, chebyshev_point(y)) / (1 + 2 * y);
  return where(positive, value, 2 * exp_of_square(where(positive, 0, x)) - value);
}

Array scaled_erfc_slope(const Array& x, const Array& value) {
  const Array positive = x >= 0, y = where(positive, x, 0), factor = 1 / (1 + 2 * y);
  const Array right = -ops::special::chebyshev(kErfcxSlope, chebyshev_point(y)) * factor * factor;
  const Array left = where(positive, 0, x) * value * 2 - 2 * std::numbers::inv_sqrtpi;
  return where(positive, right, left);
}

}  // namespace internal

namespace error_functions {
namespace {

using internal::scaled_erfc;
using internal::scaled_erfc_slope;

Array erfcx_with_slope(const Array& x) { return with_slope(x, scaled_erfc, scaled_erfc_slope); }

// Returns the u > 0 with erfc(u) = q for 0 < q <= 1/2. A rational approximation (Abramowitz and
// Stegun 26.2.23, precise to 5e-4) is followed by two of Halley's steps on log(erfc(u)) - log(q).
Array tail_of_inverse(const Array& q) {
  const Array t = sqrt(-2 * log(0.5 * q));
  const Array start = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                              (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  Array u = start * std::numbers::sqrt2 * 0.5;
  const Array target = log(q);
  for (int step = 0; step < 2; ++step) {
    const Array e = scaled_erfc(u), slope = scaled_erfc_slope(u, e) / e;
    // The derivative of f is -g, and the derivative of g is -g slope.
    const Array f = log(e) - u * u - target, g = 2 * std::numbers::inv_sqrtpi / e;
    u = u + f / g / (1 - 0.5 * f * slope / g);
  }
  return u;
}

Array inverse_erfc(const Array& y) {
  const Array q = minimum(y, 2 - y), tail = q < 0.5;
  const Array usable = where(tail & (q > 0), q, 0.25);
  const Array u = tail_of_inverse(usable), signed_u = where(y < 1, u, -u);
  const Array center = lax::erf_inv(where(tail, 0, 1 - y));
  const Array end = where(y == 0, inf_like(y), where(y == 2, -inf_like(y), nan_like(y)));
  return where(tail, where(q > 0, signed_u, end), center);
}

// Returns -sqrt(pi) / 2 exp(z^2). In the tails, where z^2 is large, it uses erfcx(z) = exp(z^2) q.
Array inverse_erfc_slope(const Array& y, const Array& z) {
  const Array q = minimum(y, 2 - y), tail = (q < 0.5) & (q > 0);
  const Array by_square = exp(z * z);
  const Array by_tail = scaled_erfc(where(tail, abs(z), 0)) / where(tail, q, 1);
  return -0.5 / std::numbers::inv_sqrtpi * where(tail, by_tail, by_square);
}

Array erfcinv_with_slope(const Array& y) { return with_slope(y, inverse_erfc, inverse_erfc_slope); }

Array dawson(const Array& x) {
  using ops::special::chebyshev;
  const Array y = abs(x), is_small = y <= 2, is_large = y > 5;
  const Array small = where(is_small, x, 1), large = where(is_large, y, 5);
  const Array middle = where(is_small | is_large, 2, y);
  const Array near = small * chebyshev(internal::kDawsnSmall, 0.5 * small * small - 1);
  const Array between = chebyshev(internal::kDawsnMiddle, (2 * middle - 7) / 3);
  const Array far = chebyshev(internal::kDawsnLarge, 50 / (large * large) - 1) / (2 * large);
  return where(is_small, near, sign(x) * where(is_large, far, between));
}

// Returns the logarithm of the normal distribution function. For x < 0 it uses erfcx, which does
// not underflow.
Array log_normal(const Array& x) {
  const Array right = x > 0, r = where(right, x, 0), l = where(right, 0, x);
  const Array scale = std::numbers::sqrt2 * 0.5 * l;
  const Array left_value = log(0.5 * scaled_erfc(-scale)) - 0.5 * l * l;
  const Array infinite = l == -inf_like(l);
  return where(right, log1p(-0.5 * lax::erfc(std::numbers::sqrt2 * 0.5 * r)),
               where(infinite, l, left_value));
}

Array log_normal_slope(const Array& x, const Array&) {
  const Array right = x > 0, r = where(right, x, 0), l = where(right, 0, x);
  const double root = std::numbers::sqrt2 * 0.5;
  const Array density = exp(-0.5 * r * r) * (root * std::numbers::inv_sqrtpi);
  const Array right_value = density / (1 - 0.5 * lax::erfc(root * r));
  const Array left_value =
      std::numbers::sqrt2 * std::numbers::inv_sqrtpi / erfcx_with_slope(-root * l);
  return where(right, right_value, left_value);
}

}  // namespace
}  // namespace error_functions

using namespace error_functions;

Array erf(const Array& x) {
  return pointwise("erf", {x}, [](std::span<const Array> a) { return lax::erf(a[0]); });
}

Array erfc(const Array& x) {
  return pointwise("erfc", {x}, [](std::span<const Array> a) { return lax::erfc(a[0]); });
}

Array erfinv(const Array& x) {
  return pointwise("erfinv", {x}, [](std::span<const Array> a) { return lax::erf_inv(a[0]); });
}

Array erfcinv(const Array& y) {
  return pointwise("erfcinv", {y},
                   [](std::span<const Array> a) { return erfcinv_with_slope(a[0]); });
}

Array dawsn(const Array& x) {
  return pointwise("dawsn", {x}, [](std::span<const Array> a) {
    return with_slope(a[0], dawson, [](const Array& x, const Array& y) { return 1 - 2 * x * y; });
  });
}

Array ndtr(const Array& x) {
  return pointwise("ndtr", {x}, [](std::span<const Array> a) {
    return 0.5 * lax::erfc(-std::numbers::sqrt2 * 0.5 * a[0]);
  });
}

Array ndtri(const Array& p) {
  return pointwise("ndtri", {p}, [](std::span<const Array> a) {
    return -std::numbers::sqrt2 * erfcinv_with_slope(2 * a[0]);
  });
}

Array log_ndtr(const Array& x) {
  return pointwise("log_ndtr", {x}, [](std::span<const Array> a) {
    return with_slope<1>(a[0], log_normal, log_normal_slope);
  });
}

namespace internal {

Array real_erfcx(const Array& x) {
  return pointwise("erfcx", {x}, [](std::span<const Array> a) { return erfcx_with_slope(a[0]); });
}

}  // namespace internal

}  // namespace tessera::scipy::special
