// The regularized incomplete gamma functions P(a, x) and Q(a, x) = 1 - P(a, x).
//
//   x <= 1 or x <= a    P is x^a exp(-x) / gamma(a + 1) times sum_n x^n / ((a + 1) ... (a + n))
//                       (DLMF 8.7.1)
//   other x             Q is x^a exp(-x) / gamma(a) times a continued fraction (DLMF 8.9.2)
//   a >= 200, x near a  both by the complementary error function and Temme's uniform expansion
//                       (DLMF 8.12.3 and 8.12.7), since the other sums need sqrt(a) terms there
//
// The derivative by a is that of these sums.
#include <array>
#include <cmath>
#include <numbers>
#include <span>

#include "tessera/compile/grad.h"
#include "tessera/numpy/creation.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/ops/special/series.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"
#include "tessera/scipy/special/iteration.h"

namespace tessera::scipy::special {

using namespace scipy::internal;
using namespace internal;

namespace incomplete_gamma {
namespace {

constexpr double kUniform = 200;  // least a for the uniform expansion
constexpr double kLimit = 5000;   // most terms; a few hundred are used

// Returns x^a exp(-x) / gamma(a + 1) for a > 0 and x > 0. For large a, powers and gamma function
// are computed together, from the logarithm of x / a.
Array density(const Array& a, const Array& x) {
  constexpr double kStirling = 10;
  const Array large = a >= kStirling;
  const Array small_a = where(large, 1, a), large_a = where(large, a, kStirling);
  const Array plain = lax::pow(x, small_a) * exp(-x) / ops::special::gamma(small_a + 1);
  const Array u = where(large, (x - large_a) / large_a, 0);
  const Array scaled = exp(large_a * log1p_minus(u) - ops::special::stirling_rest(large_a)) *
                       lax::rsqrt(2 * std::numbers::pi * large_a);
  return where(large, scaled, plain);
}

struct Tails {
  Array lower, upper;
};

// Returns (P, Q) for a >= 200 and |x - a| <= 0.4 a.
Tails uniform(const Array& a, const Array& x) {
  const Array eta = root_of_log1p_minus((x - a) / a);
  const std::array<std::span<const double>, 5> kOrders = {kTemme0, kTemme1, kTemme2, kTemme3,
                                                          kTemme4};
  const Array inverse = 1 / a;
  Array sum = ops::special::polynomial(kOrders.back(), eta);
  for (size_t k = kOrders.size() - 1; k-- > 0;)
    sum = sum * inverse + ops::special::polynomial(kOrders[k], eta);
  const Array half_square = 0.5 * a * eta * eta;
  const Array rest = exp(-half_square) * lax::rsqrt(2 * std::numbers::pi * a) * sum;
  const Array argument = eta * sqrt(0.5 * a);
  return {0.5 * lax::erfc(-argument) - rest, 0.5 * lax::erfc(argument) + rest};
}

// Returns (P, Q) inside of the domain, for finite a and x > 0. `slopes`: their derivatives by a are
// needed.
Tails tails(const Array& a, const Array& x, const Array& enabled, bool slopes) {
  const Array near = enabled & (a >= kUniform) & (abs(x - a) <= 0.4 * a);
  const Array by_fraction = enabled & ~near & (x > 1) & (x > a);
  const Array by_series = enabled & ~near & ~by_fraction;
  const auto at = [](const Array& where_used, const Array& v, double other) {
    return where(where_used, v, other);
  };
  const Array d = density(at(enabled, a, 1), at(enabled, x, 1));
  const Array sa = at(by_series, a, 1), sx = at(by_series, x, 1);
  const Array series = sum_series(
      ones_like(a), by_series, kLimit, [&](const Array& n) { return sx / (sa + n + 1); },
      zeros_like(a));
  const Array fa = at(by_fraction, a, 1), fx = at(by_fraction, x, 2);
  // The error after n terms is about exp(-4 sqrt(n x)); the term a is 0 if a is an integer.
  const double digits = -std::log(finfo(fx.dtype()).eps);
  const Array least = slopes ? fa + digits * digits / 16 / fx + 2 : Array(0);
  const Array fraction = continued_fraction(
      fx + 1 - fa, by_fraction, kLimit,
      [&](const Array& n) { return std::pair(-n * (n - fa), fx + 2 * n + 1 - fa); }, least);
  const Tails middle = uniform(at(near, a, kUniform), at(near, x, kUniform));
  const Array lower = d * series, upper = d * fa / fraction;
  return {where(near, middle.lower, where(by_fraction, 1 - upper, lower)),
          where(near, middle.upper, where(by_fraction, upper, 1 - lower))};
}

// Returns whether Q is less than every number: for a >= 10 and t = x / a it is at most about
// exp(a (1 + log t - t)).
Array is_far(const Array& a, const Array& x) { return x > 2000 + 100 * a; }

// Returns P or Q, including the ends of the domain: 0 and 1 at x = 0 and x = inf, NaN outside.
template <bool kUpper, bool kSlopes = false>
Array regularized(const Array& a, const Array& x) {
  const Array far = is_far(a, x);
  const Array inside = (a > 0) & (x > 0) & isfinite(a) & isfinite(x) & ~far;
  const Tails t = tails(a, x, inside, kSlopes);
  const Array at_zero = (x == 0) & (a > 0),
              at_infinity = ((x == inf_like(x)) | far) & (a > 0) & isfinite(a);
  // P is a step at 0 for a = 0, and at infinity for a = inf.
  const Array full = at_infinity | ((a == 0) & (x > 0));
  const Array none = (at_zero & isfinite(a)) | ((a == inf_like(a)) & (x >= 0) & isfinite(x));
  const Array value = where(inside, kUpper ? t.upper : t.lower, nan_like(x));
  return where(full, kUpper ? 0.0 : 1.0, where(none, kUpper ? 1.0 : 0.0, value));
}

// Returns x^(a - 1) exp(-x) / gamma(a), the derivative of P by x.
Array slope_by_x(const Array& a, const Array& x) {
  const Array inside = (x > 0) & isfinite(x) & (a > 0) & isfinite(a) & ~is_far(a, x);
  const Array d = density(where(inside, a, 1), where(inside, x, 1));
  const Array at_zero = where(a < 1, inf_like(x), where(a == 1, 1, 0));
  const Array value = d * a / where(inside, x, 1);
  const Array valid = (x >= 0) & (a >= 0);
  return where(inside, value, where(valid, where(x == 0, at_zero, 0), nan_like(x)));
}

template <bool kUpper>
Array with_derivatives(const Array& a, const Array& x) {
  return with_slopes(
      a, x, regularized<kUpper>,
      [](const Array& a, const Array& x, const Array&) {
        const auto by_a = [x](const Array& at) { return regularized<kUpper, true>(at, x); };
        return jvp(by_a, std::tuple(a), std::tuple(ones_like(a))).second;
      },
      [](const Array& a, const Array& x, const Array&) {
        const Array slope = slope_by_x(a, x);
        return kUpper ? -slope : slope;
      });
}

}  // namespace
}  // namespace incomplete_gamma

Array gammainc(const Array& a, const Array& x) {
  return pointwise("gammainc", {a, x}, [](std::span<const Array> v) {
    return incomplete_gamma::with_derivatives<false>(v[0], v[1]);
  });
}

Array gammaincc(const Array& a, const Array& x) {
  return pointwise("gammaincc", {a, x}, [](std::span<const Array> v) {
    return incomplete_gamma::with_derivatives<true>(v[0], v[1]);
  });
}

}  // namespace tessera::scipy::special
