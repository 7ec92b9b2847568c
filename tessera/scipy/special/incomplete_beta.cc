// The regularized incomplete beta function by its continued fraction (DLMF 8.17.22), which
// converges fast for x < (a + 1) / (a + b + 2). For other x it is 1 minus the function of (b, a, 1
// - x) (DLMF 8.17.4). The derivatives by a and b are those of the fraction.
#include <cmath>
#include <numbers>

#include "tessera/compile/grad.h"
#include "tessera/numpy/creation.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/iteration.h"
#include "tessera/scipy/special/log_beta.h"

namespace tessera::scipy::special {

using namespace scipy::internal;
using namespace internal;

namespace incomplete_beta {
namespace {

// Returns x^a (1 - x)^b / beta(a, b) for 0 < x < 1. For large a and b it uses the logarithms of x /
// x0 and (1 - x) / (1 - x0) with x0 = a / (a + b), whose first-order terms cancel.
Array density(const Array& a, const Array& b, const Array& x) {
  constexpr double kStirling = 10;
  const auto rest = ops::special::stirling_rest;
  const Array large = (a >= kStirling) & (b >= kStirling);
  const Array la = where(large, a, kStirling), lb = where(large, b, kStirling);
  const Array distance = lb * x - la * (1 - x), total = la + lb;
  const Array scaled = exp(la * log1p_minus(distance / la) + lb * log1p_minus(-distance / lb) +
                           rest(total) - rest(la) - rest(lb)) *
                       sqrt(la * lb / (2 * std::numbers::pi * total));
  const Array plain = exp(a * log(x) + b * log1p(-x) - log_beta(a, b));
  return where(large, scaled, plain);
}

// `slopes`: the derivatives by a and b are needed.
Array fraction_of(const Array& a, const Array& b, const Array& x, const Array& enabled,
                  bool slopes) {
  constexpr double kLimit = 20000;
  const auto partial = [&](const Array& n) {
    const Array m = floor(0.5 * n), twice = a + 2 * m;
    const Array even = m * (b - m) * x / ((twice - 1) * twice);
    const Array odd = -(a + m) * (a + b + m) * x / (twice * (twice + 1));
    return std::pair(where(2 * m == n, even, odd), ones_like(x));
  };
  if (!slopes) return continued_fraction(ones_like(x), enabled, kLimit, partial);
  // The term 2 b is 0 if b is an integer. Behind it the error shrinks by (1 - r) / (1 + r) with
  // each term. For a large b the derivatives have converged before.
  constexpr double kMost = 100;
  const Array r = sqrt(1 - x), terms = std::log(finfo(x.dtype()).eps) / log((1 - r) / (1 + r));
  const Array least = where(b <= kMost, 2 * b + terms + 2, 0);
  return continued_fraction(ones_like(x), enabled, kLimit, partial, least);
}

Array inside_of(const Array& a, const Array& b, const Array& x) {
  return (a > 0) & (b > 0) & isfinite(a) & isfinite(b) & (x > 0) & (x < 1);
}

template <bool kSlopes = false>
Array regularized(const Array& a, const Array& b, const Array& x) {
  const Array inside = inside_of(a, b, x);
  const Array ua = where(inside, a, 1), ub = where(inside, b, 1), ux = where(inside, x, 0.25);
  const Array swap = ux * (ua + ub + 2) >= ua + 1;
  const Array p = where(swap, ub, ua), q = where(swap, ua, ub), y = where(swap, 1 - ux, ux);
  const Array part = density(ua, ub, ux) / (p * fraction_of(p, q, y, inside, kSlopes));
  const Array value = where(inside, where(swap, 1 - part, part), nan_like(x));
  const Array valid = (a > 0) & (b > 0);
  return where(valid & (x == 0), 0, where(valid & (x == 1), 1, value));
}

// Returns x^(a - 1) (1 - x)^(b - 1) / beta(a, b).
Array slope_by_x(const Array& a, const Array& b, const Array& x) {
  const Array inside = inside_of(a, b, x);
  const Array ux = where(inside, x, 0.5);
  const Array value = density(where(inside, a, 1), where(inside, b, 1), ux) / (ux * (1 - ux));
  const auto at_end = [&](const Array& power, const Array& other) {
    return where(power < 1, inf_like(x), where(power == 1, other, 0));
  };
  const Array valid = (a > 0) & (b > 0);
  return where(
      inside, value,
      where(valid & (x == 0), at_end(a, b), where(valid & (x == 1), at_end(b, a), nan_like(x))));
}

// Returns the derivative by one argument, `shape`. `at` is the function of that argument alone.
template <class At>
Array slope_by_shape(const At& at, const Array& shape) {
  return jvp(at, std::tuple(shape), std::tuple(ones_like(shape))).second;
}

Array with_derivatives(const Array& a, const Array& b, const Array& x) {
  const auto rule = [](const std::tuple<Array, Array, Array>& at,
                       const std::tuple<Array, Array, Array>& tangents) {
    const auto& [a, b, x] = at;
    const auto& [ta, tb, tx] = tangents;
    const Array by_a =
        slope_by_shape([&](const Array& v) { return regularized<true>(v, b, x); }, a);
    const Array by_b =
        slope_by_shape([&](const Array& v) { return regularized<true>(a, v, x); }, b);
    return std::pair(regularized<>(a, b, x), ta * by_a + tb * by_b + tx * slope_by_x(a, b, x));
  };
  return custom_jvp(regularized<>, rule)(a, b, x);
}

}  // namespace
}  // namespace incomplete_beta

Array betainc(const Array& a, const Array& b, const Array& x) {
  return pointwise("betainc", {a, b, x}, [](std::span<const Array> v) {
    return incomplete_beta::with_derivatives(v[0], v[1], v[2]);
  });
}

}  // namespace tessera::scipy::special
