// The gamma function, its logarithm and functions of them.
#include "tessera/ops/special/gamma.h"

#include <cmath>
#include <numbers>

#include "tessera/base/error.h"
#include "tessera/numpy/creation.h"
#include "tessera/numpy/elementwise.h"
#include "tessera/numpy/logic.h"
#include "tessera/numpy/manipulation.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/numpy/promotion.h"
#include "tessera/numpy/reduce.h"
#include "tessera/ops/special/zeta.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace gamma_functions {
namespace {

constexpr double kLogTwoPi = 1.8378770664093454836;

Array gamma_with_slope(const Array& x) {
  return with_slope(x, ops::special::gamma,
                    [](const Array& x, const Array& y) { return y * lax::digamma(x); });
}

Array sign_of_gamma(const Array& x) {
  const Array whole = floor(x), odd = whole != 2 * floor(whole * 0.5);
  const Array negative_zero = (x == 0) & (1 / x < 0);
  const Array undefined = isnan(x) | ((x < 0) & (x == whole));
  return where(undefined, nan_like(x),
               where(((x < 0) & odd) | negative_zero, -1, where(undefined, x, 1)));
}

// Returns log gamma(z) for Re z >= 1/2: the recurrence up to |z| >= 10, then Stirling's series
// (DLMF 5.11.1).
Array loggamma_right(const Array& z) {
  Array w = z, product = zeros_like(z);
  for (int k = 0; k < 10; ++k) {
    const Array below = abs(w) < 10;
    product = product + log(where(below, w, 1));
    w = where(below, w + 1, w);
  }
  const Array inverse = 1 / w, r = inverse * inverse;
  // The terms B_2k / (2k (2k - 1)), by Horner's rule.
  const Array rest =
      inverse *
      (1.0 / 12 +
       r * (-1.0 / 360 +
            r * (1.0 / 1260 +
                 r * (-1.0 / 1680 +
                      r * (1.0 / 1188 +
                           r * (-691.0 / 360360 + r * (1.0 / 156 - r * (3617.0 / 122400))))))));
  return (w - 0.5) * log(w) - w + 0.5 * kLogTwoPi + rest - product;
}

// Returns log gamma(z) on the branch that is real for z > 0 and analytic except for z <= 0. In the
// upper half plane log sin(pi z) = -i pi z + log(1 - exp(2 pi i z)) + i pi / 2 - log 2 is analytic,
// so reflection (DLMF 5.5.3) needs no other branch. The lower half plane has the conjugate values.
Array complex_loggamma(const Array& z) {
  const Array x = real(z), direction = copysign(1, imag(z)), y = abs(imag(z));
  const Array left = x < 0.5, upper = lax::complex(x, y);
  const Array right_value = loggamma_right(where(left, 1 - upper, upper));
  const Array lx = where(left, x, 0.25), ly = where(left, y, 1);
  const Array decay = exp(-2 * std::numbers::pi * ly);
  const Array sine = ops::special::sin_pi(lx), cosine = ops::special::sin_pi(lx + 0.5);
  const Array one_minus = lax::complex(2 * decay * sine * sine - expm1(-2 * std::numbers::pi * ly),
                                       -2 * decay * sine * cosine);
  const Array constant =
      lax::complex(kLogTwoPi - std::numbers::pi * ly, std::numbers::pi * (lx - 0.5));
  const Array value = where(left, constant - log(one_minus) - right_value, right_value);
  return lax::complex(real(value), imag(value) * direction);
}

// Returns whether a complex function of gamma has no value: at its poles, and at NaN.
Array undefined_at(const Array& z) {
  const Array x = real(z), y = imag(z);
  return isnan(x) | isnan(y) | ((y == 0) & (x <= 0) & (x == floor(x)));
}

Array nan_of_both_parts(const Array& z) {
  const Array nan = nan_like(real(z));
  return lax::complex(nan, nan);
}

Array complex_pointwise(const char* name, const Array& z, Body body) {
  struct ComplexParams {
    Body body;
  };
  return composite(name, ComplexParams{body}, {z},
                   [](const ComplexParams& p, std::span<const Array> a) {
                     const Array bad = undefined_at(a[0]);
                     const std::vector<Array> usable{where(bad, 1, a[0])};
                     return where(bad, nan_of_both_parts(a[0]), p.body(usable));
                   });
}

}  // namespace
}  // namespace gamma_functions

using namespace gamma_functions;

Array gamma(const Array& x) {
  if (is_complex(x.dtype()))
    return complex_pointwise("gamma", x,
                             [](std::span<const Array> a) { return exp(complex_loggamma(a[0])); });
  return pointwise("gamma", {x}, [](std::span<const Array> a) { return gamma_with_slope(a[0]); });
}

Array gammaln(const Array& x) {
  return pointwise("gammaln", {x}, [](std::span<const Array> a) { return lax::lgamma(a[0]); });
}

Array loggamma(const Array& x) {
  if (is_complex(x.dtype()))
    return complex_pointwise("loggamma", x,
                             [](std::span<const Array> a) { return complex_loggamma(a[0]); });
  return pointwise("loggamma", {x}, [](std::span<const Array> a) {
    return where(a[0] > 0, lax::lgamma(where(a[0] > 0, a[0], 1)),
                 where(a[0] == 0, inf_like(a[0]), nan_like(a[0])));
  });
}

Array gammasgn(const Array& x) {
  return pointwise("gammasgn", {x}, [](std::span<const Array> a) { return sign_of_gamma(a[0]); });
}

Array digamma(const Array& x) {
  return pointwise("digamma", {x}, [](std::span<const Array> a) {
    const Array zero = a[0] == 0;
    return where(zero, -inf_like(a[0]), lax::digamma(where(zero, 1, a[0])));
  });
}

Array polygamma(const Array& n, const Array& x) {
  if (!is_integer(n.dtype()))
    type_error("polygamma", "expected integers n, got {}; convert them with astype",
               describe(n.type()));
  return pointwise("polygamma", {n, x},
                   [](std::span<const Array> a) { return ops::special::polygamma(a[0], a[1]); });
}

Array zeta(const Array& x, const Array& q) {
  return pointwise("zeta", {x, q},
                   [](std::span<const Array> a) { return ops::special::zeta(a[0], a[1]); });
}

Array multigammaln(const Array& a, int64_t d) {
  if (d < 1)
    value_error("multigammaln", "expected a dimension d >= 1, got {}; pass the number of rows", d);
  elementwise::expect_real("multigammaln", a);
  struct MultigammaParams {
    int64_t d;
  };
  return composite("multigammaln", MultigammaParams{d}, {a},
                   [](const MultigammaParams& p, std::span<const Array> x) {
                     const Array a = promote(x[0], Promotion::kInexact);
                     const double d = static_cast<double>(p.d);
                     const Array halves = arange(p.d, a.dtype()) / 2;
                     const Array each = lax::lgamma(expand_dims(a, -1) - halves);
                     return sum(each, {.axis = -1}) +
                            0.25 * d * (d - 1) * std::log(std::numbers::pi);
                   });
}

Array factorial(const Array& n) {
  return pointwise("factorial", {n}, [](std::span<const Array> a) {
    const Array negative = a[0] < 0;
    return where(negative, 0, gamma_with_slope(where(negative, 0, a[0]) + 1));
  });
}

Array poch(const Array& z, const Array& m) {
  return pointwise("poch", {z, m}, [](std::span<const Array> a) {
    const auto value = [](const Array& z, const Array& m) {
      const Array above = ops::special::gamma(z + m), below = ops::special::gamma(z);
      // If gamma of either argument is out of range, the quotient is computed from logarithms.
      const Array in_range = isfinite(above) & isfinite(below) & (above != 0) & (below != 0);
      const Array size = exp(lax::lgamma(z + m) - lax::lgamma(z));
      const Array pole = (z == 0) | isnan(above) | isnan(below);
      const Array by_logs =
          where(pole, above / below, sign_of_gamma(z + m) * sign_of_gamma(z) * size);
      return where(m == 0, 1, where(in_range, above / below, by_logs));
    };
    return with_slopes(
        a[0], a[1], value,
        [](const Array& z, const Array& m, const Array& y) {
          return y * (lax::digamma(z + m) - lax::digamma(z));
        },
        [](const Array& z, const Array& m, const Array& y) { return y * lax::digamma(z + m); });
  });
}

Array bernoulli(int64_t n) {
  if (n < 0)
    value_error("bernoulli", "expected an index n >= 0, got {}; pass that of the last number", n);
  std::vector<double> numbers(static_cast<size_t>(n + 1), 0.0);
  numbers[0] = 1;
  if (n >= 1) numbers[1] = -0.5;
  // B_2k| = 2 (2k)! zeta(2k) / (2 pi)^2k (DLMF 25.6.2), computed in long double.
  const long double angle = 2 * std::numbers::pi_v<long double>;
  long double factor = 2;
  for (int64_t k = 2; k <= n; k += 2) {
    factor *= static_cast<long double>(k * (k - 1)) / (angle * angle);
    long double zeta = 1;
    if (k == 2) {
      zeta = std::numbers::pi_v<long double> * std::numbers::pi_v<long double> / 6;
    } else {
      // The tail of the sum is its integral plus half a term (DLMF 25.2.9).
      constexpr int kTerms = 40;
      for (int j = 2; j < kTerms; ++j) zeta += std::pow(1.0L * j, -static_cast<long double>(k));
      const long double last = std::pow(1.0L * kTerms, -static_cast<long double>(k));
      zeta += last * (kTerms / static_cast<long double>(k - 1) + 0.5L +
                      static_cast<long double>(k) / (12.0L * kTerms) -
                      static_cast<long double>(k * (k + 1) * (k + 2)) /
                          (720.0L * kTerms * kTerms * kTerms));
    }
    numbers[static_cast<size_t>(k)] = static_cast<double>((k % 4 == 2 ? 1 : -1) * factor * zeta);
  }
  return as_dtype(array(numbers), default_float());
}

}  // namespace tessera::scipy::special
