// The sine and cosine integrals and Fresnel's integrals. Near 0 they are Chebyshev series; farther
// out they are sine and cosine times slowly varying factors f and g, which have such series too.
#include <numbers>

#include "tessera/numpy/logic.h"
#include "tessera/numpy/math.h"
#include "tessera/numpy/operators.h"
#include "tessera/ops/special/gamma.h"
#include "tessera/ops/special/series.h"
#include "tessera/scipy/pointwise.h"
#include "tessera/scipy/special.h"
#include "tessera/scipy/special/coefficients.h"

namespace tessera::scipy::special {

using namespace scipy::internal;

namespace trigonometric_integrals {
namespace {

using ops::special::chebyshev;
using ops::special::sin_pi;

constexpr double kSplit = 4;           // of the sine and cosine integrals
constexpr double kFresnelSplit = 1.6;  // of Fresnel's

// The factors of DLMF 6.2.17 and 6.2.18, or of 7.2.10 and 7.2.11.
struct Factors {
  Array f, g;
};

Factors sine_factors(const Array& x) {
  const Array t = 4 * kSplit / (x + kSplit) - 1, inverse = 1 / x;
  return {chebyshev(internal::kSiCiF, t) * inverse,
          chebyshev(internal::kSiCiG, t) * inverse * inverse};
}

Array sine_integral(const Array& x) {
  const Array y = abs(x), near = y <= kSplit, finite = isfinite(y);
  const Array small = where(near, x, 1), large = where(near | ~finite, kSplit, y);
  const Array inner = small * chebyshev(internal::kSiSmall, small * small / 8 - 1);
  const Factors factors = sine_factors(large);
  const Array outer =
      std::numbers::pi / 2 - factors.f * lax::cos(large) - factors.g * lax::sin(large);
  const Array end = where(isnan(x), x, std::numbers::pi / 2);
  return where(near, inner, sign(x) * where(finite, outer, end));
}

// Returns Ci(|x|). It is NaN at -inf.
Array cosine_integral(const Array& x) {
  const Array y = abs(x), near = y <= kSplit, finite = isfinite(y);
  const Array small = where(near & (y > 0), y, 1), large = where(near | ~finite, kSplit, y);
  const Array square = small * small;
  const Array inner =
      std::numbers::egamma + log(small) + square * chebyshev(internal::kCiSmall, square / 8 - 1);
  const Factors factors = sine_factors(large);
  const Array outer = factors.f * lax::sin(large) - factors.g * lax::cos(large);
  const Array end = where(x == inf_like(x), 0, nan_like(x));
  return where(y == 0, -inf_like(x), where(near, inner, where(finite, outer, end)));
}

// Returns x^2 / 2 modulo 2. x = h + l with an integer h; only the product h l is rounded.
Array half_square(const Array& x) {
  const Array h = floor(x), l = x - h, product = h * l;
  const Array odd = where(2 * floor(0.5 * h) == h, 0, 0.5);
  return odd + (product - 2 * floor(0.5 * product)) + 0.5 * l * l;
}

Array sine_of_square(const Array& x) { return sin_pi(half_square(abs(x))); }
Array cosine_of_square(const Array& x) { return sin_pi(half_square(abs(x)) + 0.5); }

Factors fresnel_factors(const Array& x) {
  const Array inverse = 1 / x, v = kFresnelSplit * inverse, t = 2 * v * v - 1;
  const Array by_pi = inverse * std::numbers::inv_pi;
  return {chebyshev(internal::kFresnelF, t) * by_pi,
          chebyshev(internal::kFresnelG, t) * by_pi * by_pi * inverse};
}

// Maps x^4 to the interval of the series.
Array fresnel_point(const Array& x) {
  constexpr double kFourth = kFresnelSplit * kFresnelSplit * kFresnelSplit * kFresnelSplit;
  const Array square = x * x;
  return square * square * (2 / kFourth) - 1;
}

// Returns the integral: `inner` near 0, `outer` for |x| >= 1.6.
template <class Inner, class Outer>
Array fresnel_integral(const Array& x, const Inner& inner, const Outer& outer) {
  const Array y = abs(x), near = y <= kFresnelSplit, finite = isfinite(y);
  const Array large = where(near | ~finite, kFresnelSplit, y);
  const Array end = where(isnan(x), x, 0.5);
  return where(near, inner(where(near, x, 1)), sign(x) * where(finite, outer(large), end));
}

Array fresnel_sine(const Array& x) {
  return fresnel_integral(
      x,
      [](const Array& v) { return v * v * v * chebyshev(internal::kFresnelS, fresnel_point(v)); },
      [](const Array& v) {
        const Factors k = fresnel_factors(v);
        return 0.5 - k.f * cosine_of_square(v) - k.g * sine_of_square(v);
      });
}

Array fresnel_cosine(const Array& x) {
  return fresnel_integral(
      x, [](const Array& v) { return v * chebyshev(internal::kFresnelC, fresnel_point(v)); },
      [](const Array& v) {
        const Factors k = fresnel_factors(v);
        return 0.5 + k.f * sine_of_square(v) - k.g * cosine_of_square(v);
      });
}

}  // namespace
}  // namespace trigonometric_integrals

using namespace trigonometric_integrals;

std::pair<Array, Array> sici(const Array& x) {
  return pointwise_pair("sici", {x}, [](std::span<const Array> a) {
    const Array si = with_slope(a[0], sine_integral, [](const Array& x, const Array&) {
      const Array divisor = where(x == 0, 1, x);
      return where(x == 0, 1, lax::sin(x) / divisor);
    });
    const Array ci = with_slope(a[0], cosine_integral,
                                [](const Array& x, const Array&) { return lax::cos(x) / x; });
    return std::pair(si, ci);
  });
}

std::pair<Array, Array> fresnel(const Array& x) {
  return pointwise_pair("fresnel", {x}, [](std::span<const Array> a) {
    const auto by_angle = [](bool sine) {
      return [sine](const Array& x, const Array&) {
        const Array angle = half_square(abs(x)) + (sine ? 0.0 : 0.5);
        // The derivatives of the angle's integer parts are 0, so its derivative is that of x^2 / 2.
        return sin_pi(angle);
      };
    };
    return std::pair(with_slope(a[0], fresnel_sine, by_angle(true)),
                     with_slope(a[0], fresnel_cosine, by_angle(false)));
  });
}

}  // namespace tessera::scipy::special
