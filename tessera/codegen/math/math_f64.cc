// Functions of float64, and functions of float32 that are computed in float64. In float64,
// cancellation that would cost float32 its last bits is harmless, and no intermediate value
// overflows or is subnormal.
#include <cmath>
#include <limits>

#include "tessera/codegen/helpers.h"
#include "tessera/codegen/math/elementary.h"
#include "tessera/codegen/math/exponent.h"

namespace tessera::codegen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kPi = 3.14159265358979323846, kPiRest = 1.2246467991473532e-16;
constexpr double kLn2High = 0x1.62e42fee00000p-1, kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kMagic = 0x1.8p52;  // x + kMagic holds round(x) in its low bits

Vec clamp(Vec x, double low, double high) {
  return fast_min(x.like(high), fast_max(x.like(low), x));
}

// Returns 2^n for an integer n in [-1022, 1023], given as a float.
Vec power_of_two(Vec n) {
  return float_of_bits((bits_of(n + kMagic) + bits_of(n).like_int(1023)) << 52);
}

struct ExpArgument {
  Vec n, r, low;  // x = n log(2) + r + low, where low is the rounding error of r
};
ExpArgument reduce_exp(Vec x) {
  Vec n = fma(x, 1.44269504088896340736, kMagic) - kMagic;
  // n times the first part of log(2) is exact. The difference `first` is a multiple of the last bit
  // of `product`, so that Fast2Sum gives the rounding error of r exactly.
  Vec first = fma(-n, kLn2High, x), product = n * kLn2Low;
  Vec r = first - product;
  return {n, r, (first - r) - product};
}

// Returns (expm1(r) - r) / r^2.
Vec expm1_tail(Vec r) {
  return polynomial(r, {0.5, 0.1666666666666668, 0.041666666666666477, 0.0083333333333197052,
                        0.0013888888888974858, 0.00019841269891571417, 2.4801587156416754e-05,
                        2.7557238238347699e-06, 2.755740944128735e-07, 2.5111265001330378e-08,
                        2.0875082013606902e-09});
}
Vec expm1_reduced(Vec r) { return fma(r * r, expm1_tail(r), r); }

struct Angle {
  // a = quadrant * pi/2 + r + low for a >= 0, where low is the rounding error of r.
  Vec quadrant, r, low;
};
Angle reduce_angle(Vec x) {
  Vec shifted = fma(x, 2 / kPi, kMagic);
  Vec n = shifted - kMagic;
  // pi/2 is the sum of three parts. The first difference is exact, and it is a multiple of the last
  // bit of `product`, so that Fast2Sum gives the rounding error of r exactly.
  constexpr double second = 0x1.1a62633145c06p-54;
  Vec first = fma(-n, 0x1.921fb54442d18p+0, x), product = n * second;
  Vec r = first - product;
  Vec low = (first - r) - product - fma(n, second, -product);
  return {bits_of(shifted), r, fma(-n, 0x1.c1cd129024e09p-107, low)};
}
constexpr double kHugeAngle = 0x1p28;

// Return sin(r) and cos(r) for |r| <= pi/4.
Vec sin_poly(Vec r, Vec square) {
  Vec p = polynomial(square, {-0.16666666666666666, 0.0083333333333333176, -0.00019841269841249832,
                              2.755731921150158e-06, -2.5052104218842187e-08,
                              1.6058279418149328e-10, -7.5744293562972104e-13});
  return fma(r * square, p, r);
}
Vec cos_poly(Vec square) {
  Vec p = polynomial(square, {0.041666666666666664, -0.0013888888888888868, 2.4801587301565855e-05,
                              -2.7557319212994868e-07, 2.0876753839513538e-09,
                              -1.1470234594026518e-11, 4.7355114141533936e-14});
  return fma(square * square, p, fma(square, -0.5, 1.0));
}

// A value as the sum of its leading term and a small rest. sum() returns the rounded sum, and
// rounding_of() its rounding error: the exact sum less the rounded one.
struct Split {
  Vec leading, rest;
};
Vec sum(Split v) { return v.leading + v.rest; }
Vec rounding_of(Split v) { return (v.leading - sum(v)) + v.rest; }
Split select(Vec mask, Split a, Split b) {
  return {select(mask, a.leading, b.leading), select(mask, a.rest, b.rest)};
}

// Return sin(r + low) and cos(r + low); the rests contain the rounding errors of the leading terms.
Split sin_poly(Vec r, Vec low, Vec square) {
  Vec p = polynomial(square, {-0.16666666666666666, 0.0083333333333333176, -0.00019841269841249832,
                              2.755731921150158e-06, -2.5052104218842187e-08,
                              1.6058279418149328e-10, -7.5744293562972104e-13});
  return {r, fma(r * square, p, low * fma(square, -0.5, 1.0))};
}
Split cos_poly(Vec r, Vec low, Vec square) {
  Vec p = polynomial(square, {0.041666666666666664, -0.0013888888888888868, 2.4801587301565855e-05,
                              -2.7557319212994868e-07, 2.0876753839513538e-09,
                              -1.1470234594026518e-11, 4.7355114141533936e-14});
  Vec leading = fma(square, -0.5, 1.0);
  Vec rounded = fma(square, -0.5, 1.0 - leading);
  Vec half_of_square = 0.5 * fma(r, r, -square);
  return {leading, fma(square * square, p, rounded) - fma(r, low, half_of_square)};
}

}  // namespace

Vec sin_pi_f64(Vec x) {
  Vec folded = fast_min(x, 1.0 - x);
  Vec upper = folded > 0.25;
  Vec r = select(upper, 0.5 - folded, folded) * kPi;
  Vec square = r * r;
  return select(upper, cos_poly(square), sin_poly(r, square));
}

Vec scale_f64(Vec p, Vec n) {
  if (const std::optional<Vec> scaled = scaled_by_instruction(p, n)) return *scaled;
  Vec half = round_even(n * 0.5);
  return p * power_of_two(half) * power_of_two(n - half);
}

ExpParts exp_parts_f64(Vec x) {
  const auto [n, r, low] = reduce_exp(x);
  Vec p = polynomial(
      r, {0.50000000000000133, 0.16666666666666358, 0.041666666666507264, 0.0083333333335219376,
          0.0013888888950406865, 0.00019841269464510483, 2.4801485457077625e-05,
          2.755760842532339e-06, 2.7633154614807235e-07, 2.4997906029632643e-08});
  Vec leading = 1.0 + r;
  Vec rounded = (1.0 - leading) + r;
  return {n, leading, fma(r * r, p, rounded + low)};
}

namespace {

struct Exponential {
  Split power;  // exp(x) = 2^n power
  Vec n;
};
Exponential split_exp(Vec x) {
  const auto [n, leading, rest] = exp_parts_f64(clamp(x, -746, 710));
  return {{leading, rest}, n};
}

// Returns the difference of a float64 value and a float32 function's result for it, in float32.
Vec rounding_of_f32(Vec wide, Vec narrowed) { return narrow(wide - widen(narrowed)); }

}  // namespace

Vec exp_f64(Vec x) {
  const auto [power, n] = split_exp(x);
  return scale_f64(sum(power), n);
}
Vec exp_low_f64(Vec x) {
  const auto [power, n] = split_exp(x);
  return scale_f64(rounding_of(power), n);
}
Vec exp_low_f32(Vec x) { return rounding_of_f32(exp_f64(widen(x)), exp_f32(x)); }

// 2^x = 2^n 2^r; both are exact.
Vec exp2_f64(Vec given) {
  Vec x = clamp(given, -1080, 1026);
  Vec n = round_even(x);
  Vec r = x - n;
  Vec q = polynomial(r, {0.6931471805599453, 0.24022650695910097, 0.0555041086648216,
                         0.009618129107606888, 0.0013333558146416936, 0.0001540353044173605,
                         1.525273382983612e-05, 1.321544258792169e-06, 1.0178062445845774e-07,
                         7.072585949269223e-09, 4.4549605981865186e-10});
  return scale_f64(fma(r, q, 1.0), n);
}

Vec expm1_f64(Vec given) {
  const auto [n, r, low] = reduce_exp(clamp(given, -40, 710));
  Vec half = power_of_two(n - 1.0);
  Vec y = fma(half, expm1_reduced(r), half - 0.5);
  return select(given == 0.0, given, y + y);
}

Vec expm1_low_f64(Vec given) {
  const auto [n, r, low] = reduce_exp(clamp(given, -40, 710));
  // y is half of 2^n - 1 + 2^n r, and `lost` is its rounding error. The sums are Knuth's TwoSum,
  // which is exact whichever of its terms is larger.
  Vec half = power_of_two(n - 1.0);
  Vec tail = fma(r * r, expm1_tail(r), fma(low, r, low));
  Vec whole = half - 0.5, scaled = half * r;
  Vec y = whole + scaled, second = y - whole, minus_half = whole - half;
  Vec lost = (half - (whole - minus_half)) + (-0.5 - minus_half);
  lost = (whole - (y - second)) + (scaled - second) + lost;
  Vec rest = (y - expm1_f64(given) * 0.5) + fma(half, tail, lost);
  return rest + rest;
}
Vec expm1_low_f32(Vec x) { return rounding_of_f32(expm1_f64(widen(x)), expm1_f32(x)); }

namespace {

// log(x) = e log(2) + f - tail. f is exact and, if e is not 0, smaller than |e log(2)|. For zero,
// infinity, NaN and negative numbers, e or f is infinite or NaN (exponent.h), and so is the sum.
struct LogTerms {
  Vec e, f, tail;
};
// Returns the terms of log(2^e (1 + f)). The smaller part of e log(2) is in the tail.
LogTerms log_terms(Vec e, Vec f) {
  // log(1 + f) = 2s + s R(s^2) with s = f / (2 + f). It is computed as
  // f - (f^2/2 - s (f^2/2 + R)), so that f, the largest term, is added last.
  Vec s = f / (2.0 + f);
  Vec t = s * s;
  Vec r = t * polynomial(t, {0.66666666666666596, 0.40000000000056346, 0.2857142855591186,
                             0.22222224286820563, 0.18181666460197646, 0.15391092742915499,
                             0.13173923151025904, 0.13840844151762197});
  Vec half = f * f * 0.5;
  return {e, f, half - fma(s, half + r, e * kLn2Low)};
}
LogTerms log_terms(Vec x) {
  const auto [e, m] = scaled_of(x);
  return log_terms(e, m - 1.0);
}

}  // namespace

Vec log_f64(Vec x) {
  const auto [e, f, tail] = log_terms(x);
  return fma(e, kLn2High, f - tail);
}

// With u = 1 + x, rounded, and its rounding error, 1 + x is 2^e (m + rest) for u = 2^e m. If x is
// -1 or infinite, the scaled error is NaN; any number does then.
Vec log1p_f64(Vec x) {
  Vec u = x + 1.0;
  Vec error = x - (u - 1.0);
  const auto [e, m] = scaled_of(u, Denormals::kNone);
  Vec rest = fast_max(divided_by_power(error, e), x.like(-1));
  Vec exact = m - 1.0, f = exact + rest;
  Vec lost = (exact - f) + rest;
  const auto terms = log_terms(e, f);
  // A zero keeps its sign.
  return copy_sign(fma(e, kLn2High, f - (terms.tail - lost)), x);
}

LogParts log_parts_f64(Vec x) {
  const auto [e, f, tail] = log_terms(x);
  Vec high = e * kLn2High;  // exact
  Vec leading = high + f;
  return {leading, ((high - leading) + f) - tail};
}

namespace {

struct Wave {
  Split value;  // the sine or cosine of the reduced angle
  Vec sign;     // the sign bit, if the sign of the value is to be changed; otherwise 0
  Vec huge;     // true if the angle is too large for the reduction
};
Wave split_wave(Vec x, bool cosine) {
  Vec a = abs(x);
  auto [quadrant, r, low] = reduce_angle(a);
  if (cosine) quadrant = quadrant + quadrant.like_int(1);
  Vec square = r * r;
  Vec odd = (quadrant & quadrant.like_int(1)) != quadrant.like_int(0);
  Vec sign = quadrant << 62;
  if (!cosine) sign = sign ^ bits_of(x);
  return {select(odd, cos_poly(r, low, square), sin_poly(r, low, square)),
          sign & sign.like_int(1ULL << 63), a >= kHugeAngle};
}

}  // namespace

Vec sin_cos_f64(Vec x, bool cosine) {
  const Wave wave = split_wave(x, cosine);
  Vec value = float_of_bits(bits_of(sum(wave.value)) ^ wave.sign);
  return unlikely(any(wave.huge), value, [&] {
    return select(wave.huge, call_lanes(cosine ? kCosLanesF64 : kSinLanesF64, x), value);
  });
}
Vec sin_cos_low_f64(Vec x, bool cosine) {
  const Wave wave = split_wave(x, cosine);
  return select(wave.huge, 0.0, float_of_bits(bits_of(rounding_of(wave.value)) ^ wave.sign));
}
Vec sin_cos_low_f32(Vec x, bool cosine) {
  return rounding_of_f32(sin_cos_f64(widen(x), cosine), sin_cos_f32(x, cosine));
}

// With m = s coth(s), exp(2s) is (m + s) / (m - s). So tanh(s) is s / m, and for
// |x| = n log(2)/2 + s with n > 0 it is 1 - 2 (m - s) / (2^n (m + s) - (s - m)). Both need one
// division. n is rounded down so far (by 1.09) that it is 0 for results below 0.5, where the
// difference from 1 would cost bits; then s is |x|. Each of the selects changes a register that is
// not read afterwards, so with AVX-512 it is a mask of the operation before it.
Vec tanh_f64(Vec x) {
  constexpr double half_of_ln2 = 0x1.62e42fefa39efp-2;
  Vec a = fast_min(x.like(20), abs(x));
  // The low bits of `shifted` are the biased exponent of 2^n.
  constexpr double magic = kMagic + 1023;
  Vec shifted = fma(a, 1 / half_of_ln2, x.like(-1.09)) + magic;
  Vec n = shifted - magic, power = float_of_bits(bits_of(shifted) << 52);
  Vec far = n > 0.0;
  Vec s = select(far, fma(n, x.like(-half_of_ln2), a), a);
  Vec square = s * s;
  Vec p = polynomial(square, {0.33333333333331966, -0.022222222221083318, 0.0021164020843378616,
                              -0.00021163978314708582, 2.1374729662109354e-05,
                              -2.1522622274281303e-06, 1.9406199116655082e-07});
  Vec m = fma(square, p, 1.0);
  Vec difference = s - m;
  Vec divisor = select(far, m + s, m);
  divisor = select(far, fma(power, divisor, -difference), divisor);
  Vec y = select(far, difference + difference, s) / divisor;
  return copy_sign(select(far, y + 1.0, y), x);
}

Vec logistic_f64(Vec x) {
  Vec z = exp_f64(-abs(x));
  return select(x < 0.0, z, z.like(1)) / (1.0 + z);
}

namespace {

// Returns a / b, where each is the sum of two parts. b is a normal number.
Vec quotient_of(Split a, Split b) {
  Vec numerator = sum(a), denominator = sum(b);
  Vec inverse = 1.0 / denominator;
  Vec quotient = numerator * inverse;
  Vec remainder = fma(-quotient, denominator, numerator);
  remainder = remainder + fma(-quotient, rounding_of(b), rounding_of(a));
  return fma(remainder, inverse, quotient);
}

}  // namespace

// The quotient of the sine and the cosine of the reduced angle.
Vec tan_f64(Vec x) {
  Vec a = abs(x);
  const auto [quadrant, r, low] = reduce_angle(a);
  Vec square = r * r;
  const Split sine = sin_poly(r, low, square), cosine = cos_poly(r, low, square);
  Vec odd = (quadrant & quadrant.like_int(1)) != quadrant.like_int(0);
  Vec value = quotient_of(select(odd, cosine, sine), select(odd, sine, cosine));
  // In odd quadrants it is minus the cotangent.
  Vec sign = (quadrant << 63) ^ bits_of(x);
  value = float_of_bits(bits_of(value) ^ (sign & sign.like_int(1ULL << 63)));
  Vec huge = a >= kHugeAngle;
  return unlikely(any(huge), value,
                  [&] { return select(huge, call_lanes(kTanLanesF64, x), value); });
}

// The tangent of pi (1/2 - |f|) where that is the smaller angle, otherwise the cotangent of pi |f|.
Vec pi_cotangent_f64(Vec f) {
  Vec a = abs(f), flat = a > 0.25;
  Vec turns = select(flat, 0.5 - a, a);
  Vec r = turns * kPi, low = fma(turns, kPi, -r) + turns * kPiRest;
  Vec square = r * r;
  const Split sine = sin_poly(r, low, square), cosine = cos_poly(r, low, square);
  return copy_sign(kPi * quotient_of(select(flat, sine, cosine), select(flat, cosine, sine)), f);
}

Vec tan_f32(Vec given) {
  Vec x = widen(given);
  Vec a = abs(x);
  const auto [quadrant, r, low] = reduce_angle(a);
  Vec square = r * r;
  Vec s = sin_poly(r, square), c = cos_poly(square);
  Vec odd = (quadrant & quadrant.like_int(1)) != quadrant.like_int(0);
  Vec value = narrow(select(odd, -c, s) / select(odd, s, c));
  Vec bits = bits_of(given);
  value = float_of_bits(bits_of(value) ^ (bits & bits.like_int(0x80000000)));
  Vec huge = a >= kHugeAngle;
  return unlikely(any(huge), value,
                  [&] { return select(huge, call_lanes(kTanLanes, given), value); });
}

namespace {

// Logarithms and powers of 2 for numbers that were float32. Their relative errors (log2: 2e-13,
// log: 2e-11, exp2: 6e-11) are far below a rounding of float32, that of log2 also after a product
// with an exponent. They treat special numbers as log_f64 does.
Vec log2_for_f32(Vec x) {
  const auto [e, m] = scaled_of(x, Denormals::kNone);
  Vec f = m - 1.0;
  Vec s = f / (2.0 + f);
  return fma(s,
             polynomial(s * s, {2.8853900817774334, 0.9617966948134893, 0.5770777581431394,
                                0.41222598377401787, 0.3192907741207473, 0.29077074658525265}),
             e);
}
Vec log_for_f32(Vec x) {
  const auto [e, m] = scaled_of(x, Denormals::kNone);
  Vec f = m - 1.0;
  Vec s = f / (2.0 + f);
  Vec p = polynomial(s * s, {2.0000000000396225, 0.6666666171721365, 0.4000098636588179,
                             0.28502925464850143, 0.24145279203110398});
  return fma(s, p, e * 0.693147180559945309417);
}
Vec exp2_for_f32(Vec t) {
  t = clamp(t, -300, 300);
  Vec shifted = t + kMagic;
  Vec r = t - (shifted - kMagic);
  Vec p = polynomial(r, {0.9999999999595618, 0.6931471805568324, 0.24022651213498092,
                         0.055504109063258665, 0.009618025613318034, 0.0013333478473685416,
                         0.00015469729214118296, 1.5303700711365693e-05});
  return float_of_bits(bits_of(p) + (bits_of(shifted) << 52));
}

}  // namespace

// For a = |x|, erfc(a) = exp(-a^2) erfcx(a), where erfcx(a) = t G(t) with t = 2 / (2 + a).
Vec erfc_f32(Vec given) {
  Vec x = widen(given);
  Vec a = fast_min(x.like(10.2), abs(x));
  Vec t = 2.0 / (a + 2.0);
  Vec g = polynomial(
      t, {0.28209861263792613, 0.28197372340662874, 0.24852737866323715, 0.16247796009300725,
          0.1569103691216463, -0.26741200934278753, 0.59597549065501099, -1.1585807476799912,
          1.2086729040983746, -0.69993450546375469, 0.21824484498422905, -0.028954020869089554});
  Vec tail = exp2_for_f32((a * a) * -1.44269504088896340736) * (g * t);
  return narrow(select(x < 0.0, 2.0 - tail, tail));
}

Vec pow_f32(Vec x32, Vec y32) {
  if (is_two(x32)) return exp2_f32(y32);
  Vec x = widen(x32), y = widen(y32);
  Vec ax = abs(x);
  Vec r = exp2_for_f32(y * log2_for_f32(ax));
  Vec whole = truncate(y) == y;
  Vec half = y * 0.5;
  Vec odd = whole & (truncate(half) != half) & (abs(y) < kInf);
  Vec negative = bits_of(x) < bits_of(x).like_int(0);
  r = select((x < 0.0) & (x > -kInf) & ~whole, kNan, r);
  r = select((ax == 1.0) & (abs(y) == kInf), r.like(1), r);
  r = select(odd & negative, -abs(r), r);
  r = select((x == 1.0) | (y == 0.0), r.like(1), r);
  return narrow(r);
}

// Makes two steps of Halley's method, each of which cubes the error. The first guess divides the
// bits, and so the exponent, by three.
Vec cbrt_f32(Vec x) {
  Vec a = abs(x);
  Vec small = a < 0x1p-126;
  Vec b = select(small, a * 0x1p24, a);
  Vec guess = bits_of(b);
  guess = Vec(*x.ir, x.ir->builder.CreateUDiv(guess.v, guess.like_int(3).v)) +
          guess.like_int(0x2a5137a0);
  Vec t = widen(float_of_bits(guess)), wide = widen(b);
  for (int i = 0; i < 2; ++i) {
    Vec cube = t * t * t;
    t = t * (cube + 2.0 * wide) / (2.0 * cube + wide);
  }
  Vec r = narrow(select(small, t * 0x1p-8, t));
  return select((a > 0.0) & (a < kInf), copy_sign(r, x), x);
}

Vec asinh_f32(Vec given) {
  Vec x = widen(given);
  Vec a = abs(x);
  Vec r = log_for_f32(a + sqrt(fma(a, a, 1.0)));
  // For smaller numbers, the logarithm would lose too many bits.
  r = select(a < 0x1p-12, fma(a * a * a, -1.0 / 6, a), r);
  return narrow(copy_sign(r, x));
}

Vec acosh_f32(Vec given) {
  Vec x = widen(given);
  return narrow(select(x < 1.0, kNan, log_for_f32(x + sqrt(fma(x, x, -1.0)))));
}

Vec atanh_f32(Vec given) {
  Vec x = widen(given);
  Vec a = abs(x);
  Vec r = 0.5 * log_for_f32((1.0 + a) / (1.0 - a));
  r = select(a < 0x1p-12, fma(a * a * a, 1.0 / 3, a), r);
  return narrow(copy_sign(r, x));
}

}  // namespace tessera::codegen
