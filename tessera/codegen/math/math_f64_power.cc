// Powers and cube roots of float64. x to the power y is computed as exp(y log|x|). The logarithm
// and the product are each the sum of a rounded number and its rounding error. The error before the
// last rounding is below half a unit of the last place, so that powers which are numbers of float64
// are exact.
#include <limits>

#include "tessera/codegen/math/elementary.h"

namespace tessera::codegen {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();
// log(2) is the sum of two parts. The first has 32 bits, so that its product with an exponent is
// exact.
constexpr double kLogTwoHigh = 0x1.62e42fee00000p-1, kLogTwoLow = 0x1.a39ef35793c76p-33;

// The number high + low; |low| is at most a few units of the last place of `high`.
struct TwoParts {
  Vec high, low;
};

// Returns a + b in two parts, if |a| >= |b| or a = 0.
TwoParts sum_of(Vec a, Vec b) {
  Vec high = a + b;
  return {high, (a - high) + b};
}

TwoParts product_of(Vec a, TwoParts b) {
  Vec high = a * b.high;
  return {high, fma(a, b.low, fma(a, b.high, -high))};
}

// Returns log(a) for a positive finite number.
TwoParts log_in_two_parts(Vec a) {
  Vec small = a < 0x1p-1022;
  Vec bits = bits_of(select(small, a * 0x1p54, a));
  // a = 2^e m with m in [sqrt(1/2), sqrt(2)). If e is not 0, |log(m)| is at most half of
  // |e log(2)|, so that nothing cancels in e log(2) + log(m).
  Vec biased = shr(bits + bits.like_int(0x3ff0000000000000 - 0x3fe6a09e667f3bcd), 52);
  Vec m = float_of_bits((bits + bits.like_int(0x3ff0000000000000)) - (biased << 52));
  Vec e = float_of_bits(biased | bits.like_int(0x4330000000000000)) - (0x1p52 + 1023);
  e = select(small, e - 54.0, e);
  // s = (m - 1) / (m + 1); the numerator is exact.
  Vec f = m - 1.0;
  Vec denominator = m + 1.0, rest = m - (denominator - 1.0);
  Vec inverse = 1.0 / denominator;
  Vec s = f * inverse;
  Vec s_low = fma(-s, rest, fma(-s, denominator, f)) * inverse;
  // t = s^2; log(m) = s (2 + t (2/3 + t q)), where q = 2/5 + 2/7 t + ... interpolates at
  // Chebyshev's nodes.
  Vec t = s * s;
  Vec t_low = fma(s + s, s_low, fma(s, s, -t));
  Vec q = polynomial(
      t, {0.4, 0.28571428571429375, 0.22222222221649277, 0.18181818336889324, 0.15384594802772,
          0.13334813373687013, 0.11706004128016817, 0.11725604536475413});
  TwoParts slope = sum_of(t.like(0x1.5555555555555p-1), t * q);
  slope.low = slope.low + 0x1.5555555555555p-55;
  TwoParts bend = product_of(t, slope);
  bend.low = fma(t_low, slope.high, bend.low);
  TwoParts factor = sum_of(t.like(2), bend.high);
  factor.low = factor.low + bend.low;
  TwoParts of_m = product_of(s, factor);
  of_m.low = fma(s_low, factor.high, of_m.low);
  TwoParts sum = sum_of(e * kLogTwoHigh, of_m.high);
  sum.low = sum.low + fma(e, kLogTwoLow, of_m.low);
  return sum;
}

// Returns exp(high + low); high may be any number.
Vec exp_of_two_parts(TwoParts x) {
  // Beyond 800 the result is 0 or infinity, and the low part may be large.
  Vec low = select(abs(x.high) < 800.0, x.low, 0.0);
  Vec high = fast_min(x.high.like(800), fast_max(x.high.like(-800), x.high));
  Vec n = round_even(high * 1.44269504088896340736);
  Vec r_high = fma(-n, kLogTwoHigh, high);
  auto [r, r_low] = sum_of(r_high, fma(-n, kLogTwoLow, low));
  // p = (exp(r) - 1 - r) / r^2. The low part of r is multiplied by the derivative, about 1 + r.
  Vec p = polynomial(r, {0.5, 0.1666666666666668, 0.041666666666666477, 0.0083333333333197052,
                         0.0013888888888974858, 0.00019841269891571417, 2.4801587156416754e-05,
                         2.7557238238347699e-06, 2.755740944128735e-07, 2.5111265001330378e-08,
                         2.0875826213606902e-09});
  TwoParts y = sum_of(r.like(1), r);
  return scale_f64(y.high + (fma(r * r, p, r_low * y.high) + y.low), n);
}

}  // namespace

Vec pow_f64(Vec x, Vec y) {
  if (is_two(x)) return exp2_f64(y);
  Vec a = abs(x);
  // From |y| = 2^64 on, the power of any |x| other than 1 is 0 or infinity.
  Vec exponent = fast_min(y.like(0x1p64), fast_max(y.like(-0x1p64), y));
  Vec r = exp_of_two_parts(product_of(exponent, log_in_two_parts(a)));
  Vec is_zero = a == 0.0;
  r = select(is_zero | (a == kInfinite), select((y < 0.0) == is_zero, r.like(kInfinite), 0.0), r);
  Vec whole = truncate(y) == y;
  Vec half = y * 0.5;
  Vec odd = whole & (truncate(half) != half);
  Vec negative = bits_of(x) < bits_of(x).like_int(0);
  r = select(odd & negative, -r, r);
  r = select((x < 0.0) & (a < kInfinite) & ~whole, std::numeric_limits<double>::quiet_NaN(), r);
  r = select(is_nan(x) | is_nan(y), x + y, r);
  r = select((a == 1.0) & (abs(y) == kInfinite), r.like(1), r);
  return select((x == 1.0) | (y == 0.0), r.like(1), r);
}

// Computes y = 1 / cbrt(a) without a division. With h = 1 - a y^3, the exact value is y times
// (1 - h)^(-1/3), for which there is a polynomial. The first guess of y divides the upper half of
// the bits by -3, which leaves |h| <= 0.1055; the first polynomial leaves |h| < 4e-7.
Vec cbrt_f64(Vec x) {
  Vec size = abs(x);
  Vec small = size < 0x1p-900;  // else a - z^3 below might be denormal
  Vec a = select(small, size * 0x1p300, size);
  Vec upper = float_of_bits(shr(bits_of(a), 32) | bits_of(a).like_int(0x4330000000000000)) - 0x1p52;
  Vec third = bits_of(fma(upper, -1.0 / 3, 0x1.8p52));
  Vec y = float_of_bits((third + third.like_int(0x553ee000)) << 32);
  // The product of two factors of 1 is near neither end of the range.
  Vec h = fma(-(a * y), y * y, 1.0);
  y = y * polynomial(h, {1.0, 0.3333284426267399, 0.22221787340083043, 0.1745925541927024,
                         0.14559162505881876});
  h = fma(-(a * y), y * y, 1.0);
  y = fma(y * h, fma(h, 2.0 / 9, 1.0 / 3), y);
  // One step of Newton's method from z = a y^2, with a - z^3 as if computed exactly.
  Vec inverse = y * y;
  Vec z = a * inverse;
  Vec square = z * z;
  Vec rest = fma(-fma(z, z, -square), z, fma(-square, z, a));
  z = fma(rest, inverse * (1.0 / 3), z);
  z = select(small, z * 0x1p-100, z);
  return select((size > 0.0) & (size < kInfinite), copy_sign(z, x), x);
}

}  // namespace tessera::codegen
