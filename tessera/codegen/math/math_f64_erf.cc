// erf and erfc of float64. The polynomials and their ranges are in erf_coefficients.h.
#include "tessera/codegen/math/elementary.h"
#include "tessera/codegen/math/erf_coefficients.h"

namespace tessera::codegen {
namespace {

// From kNothing on erfc is rounded to 0, and from kOne on erf is rounded to 1.
constexpr double kNothing = 27.3;
constexpr double kOne = 6;

}  // namespace

Vec erf_f64(Vec x) {
  Vec size = abs(x);
  // NaN stays NaN.
  Vec a = fast_min(x.like(kOne), size);
  Vec square = a * a;
  Vec small = fma(size, polynomial(square, kErf), size);
  Vec t = (a - 3.0) / (a + 3.0);
  // The tail is at most 0.16, so that its own errors hardly count.
  const auto [n, leading, rest] = exp_parts_f64(-square);
  Vec tail = polynomial(t, kErfTail) * (leading + rest);
  Vec y = select(a < 1.0, small, 1.0 - scale_f64(tail, n));
  return copy_sign(y, x);
}

// For x >= 0, erfc(x) is the product of exp(-x^2) and of (1 + c x) erfcx(x) / (1 + c x), where a
// polynomial computes the numerator. Each factor is the sum of two parts, so that the result is
// rounded once. For negative x it is 2 - erfc(-x). (After M. M. Shepherd and J. G. Laframboise,
// "Chebyshev approximation of (1 + 2x) exp(x^2) erfc x in 0 <= x < infinity", 1981. With c = 9/8
// the numerator is flat near 0, where an error of t would count most.)
Vec erfc_f64(Vec x) {
  Vec a = fast_min(x.like(kNothing), abs(x));
  Vec square = a * a;
  const auto [n, leading, rest] = exp_parts_f64(-square);
  Vec exp_high = leading + rest;
  // exp(-a^2) = exp(-square) exp(square - a^2), and the fma is square - a^2, the rounding error of
  // the square.
  Vec exp_low = fma(exp_high, fma(-a, a, square), (leading - exp_high) + rest);

  Vec t = (a - 3.0) / (a + 3.0);
  Vec p = polynomial(t, std::span(kErfc).subspan(1));
  Vec high = fma(t, p, kErfc[0]);
  Vec low = fma(t, p, kErfc[0] - high);
  Vec denominator = fma(a, 1.125, 1.0);
  Vec denominator_low = fma(a, 1.125, 1.0 - denominator);  // the difference is exact
  Vec inverse = 1.0 / denominator;
  Vec quotient = high * inverse;
  Vec remainder = fma(-quotient, denominator, high) + fma(-quotient, denominator_low, low);
  Vec quotient_low = remainder * inverse;

  Vec tail = fma(exp_high, quotient, fma(exp_high, quotient_low, exp_low * quotient));
  Vec scaled = scale_f64(tail, n);
  return select(x < 0.0, 2.0 - scaled, scaled);
}

}  // namespace tessera::codegen
