// Functions of float32 that are computed in float32. The coefficients of the polynomials have the
// least relative error on the ranges that the comments name (Remez's algorithm).
#include <array>
#include <cmath>
#include <limits>

#include "tessera/base/error.h"
#include "tessera/codegen/helpers.h"
#include "tessera/codegen/math/elementary.h"
#include "tessera/codegen/math/exponent.h"

namespace tessera::codegen {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kLn2High = 0x1.62e400p-1,
                 kLn2Low = 0x1.7f7d1cp-20;  // ln 2 in two parts; n * high is exact for |n| < 2^9
constexpr double kMagic = 0x1.8p23;         // x + kMagic holds round(x) in its low bits
constexpr double kPi = 3.14159265358979323846;

double low_part(double value) { return value - static_cast<double>(static_cast<float>(value)); }
double as_f32(double value) { return static_cast<double>(static_cast<float>(value)); }

// Returns x between low and high, and NaN if x is NaN: fast_min and fast_max return their second
// operand then.
Vec clamp(Vec x, double low, double high) {
  return fast_min(x.like(high), fast_max(x.like(low), x));
}

// Returns 2^n for integers n in [-126, 127], given as floats.
Vec power_of_two(Vec n) { return float_of_bits((to_int(n) + bits_of(n).like_int(127)) << 23); }

// Returns p * 2^n, rounded once, for any integer n in [-252, 254].
Vec scale(Vec p, Vec n) {
  if (const std::optional<Vec> scaled = scaled_by_instruction(p, n)) return *scaled;
  Vec half = unary(llvm::Intrinsic::floor, n * 0.5);
  return p * power_of_two(half) * power_of_two(n - half);
}

struct ExpArgument {
  Vec n, r;  // x = n ln 2 + r
};
ExpArgument reduce_exp(Vec x) {
  Vec n = round_even(x * as_f32(1 / 0.693147180559945309417));
  Vec r = fma(-n, kLn2High, x);
  return {n, fma(-n, kLn2Low, r)};
}

// x = 2^e (1 + f) with f in [-1/3, 1/3), for positive normal x.
struct LogArgument {
  Vec e, f;
};
LogArgument reduce_log(Vec bits) {
  Vec from = bits - bits.like_int(0x3f2aaaab);  // 2/3
  Vec e = from & bits.like_int(0xff800000);
  Vec m = float_of_bits(bits - e);
  return {to_float(sar(e, 23)), m - 1.0};
}

// Returns log(1 + f) + e ln 2 for f in [-1/4, 1/2).
Vec log_of(Vec e, Vec f) {
  static constexpr double kLog[] = {0.333334535f, -0.250001252f, 0.199908808f, -0.166468784f,
                                    0.1447763f,   -0.131640717f, 0.104725577f, -0.0451523438f};
  Vec square = f * f;
  Vec y = polynomial(f, square, kLog) * (square * f);
  y = fma(e, kLn2Low, y);
  y = fma(square, -0.5, y);
  return fma(e, kLn2High, f + y);
}

struct Angle {
  // a = quadrant * pi/2 + r for a >= 0. The caller copies the sign of the angle, also of -0, to the
  // result.
  Vec quadrant, r;
};
Angle reduce_angle(Vec x) {
  Vec shifted = fma(x, as_f32(2 / kPi), kMagic);
  Vec n = shifted - kMagic;
  // pi/2 in three parts; n times the first is exact.
  Vec r = fma(-n, 0x1.921fb4p+0, x);
  r = fma(-n, 0x1.4442d0p-24, r);
  return {bits_of(shifted), fma(-n, 0x1.846988p-48, r)};
}
// For smaller angles, the product of n and the first part of pi is exact, and that of n and the
// third part has a small error.
constexpr double kHugeAngle = 131072;

Vec sin_poly(Vec r, Vec square) {
  return fma(r * square, polynomial(square, {-0.16666652f, 0.008332027f, -0.00019496857f}), r);
}
Vec cos_poly(Vec square) {
  Vec p = polynomial(square, {0.04166664f, -0.0013887169f, 2.441552e-05f});
  return fma(square * square, p, fma(square, -0.5, 1.0));
}

// Returns `result` with the lanes of angles from kHugeAngle on computed by libm.
Vec fix_huge_angles(Vec x, Vec a, Vec result, const char* helper) {
  Vec huge = a >= kHugeAngle;
  return unlikely(any(huge), result, [&] { return select(huge, call_lanes(helper, x), result); });
}

// Returns atan(z) for z in [0, 1].
Vec atan_poly(Vec z) {
  Vec t = z * z;
  Vec p = polynomial(t, {-0.33333302f, 0.19998638f, -0.14265245f, 0.10957576f, -0.08419459f,
                         0.05823456f, -0.03145571f, 0.011064447f, -0.0018272146f});
  return fma(z * t, p, z);
}

// For a in [0, 1/2], asin(a) = p = s + s^3 P(s^2) with s = a. For `big` a in (1/2, 1], it is
// pi/2 - 2 p with s = sqrt((1 - a) / 2).
struct AsinArgument {
  Vec big, p;
};
AsinArgument asin_parts(Vec a) {
  Vec big = a > 0.5;
  Vec t = select(big, fma(a, -0.5, 0.5), a * a);
  Vec s = select(big, sqrt(t), a);
  Vec q = polynomial(t, {0.16666754f, 0.074952416f, 0.045477096f, 0.02414761f, 0.042218555f});
  return {big, fma(s * t, q, s)};
}

}  // namespace

Vec exp_scaled_f32(Vec x, int by) {
  x = clamp(x, -105, 90);
  auto [n, r] = reduce_exp(x);
  Vec p =
      polynomial(r, {1, 1, 0.49999994f, 0.16666509f, 0.041668527f, 0.008370134f, 0.0013811704f});
  return scale(p, by ? n + by : n);
}

Vec exp_f32(Vec x) { return exp_scaled_f32(x, 0); }

// 2^x = 2^n 2^r; both are exact.
Vec exp2_f32(Vec given) {
  Vec x = clamp(given, -160, 130);
  Vec n = round_even(x);
  Vec r = x - n;
  Vec q = polynomial(
      r, {0.6931472f, 0.2402265f, 0.05550357f, 0.009618083f, 0.0013390863f, 0.00015453163f});
  return scale(fma(r, q, 1.0), n);
}

Vec expm1_f32(Vec given) {
  // 2^n (1 + p) - 1 with p = expm1(r), at half size so that 2^n does not overflow before the result
  // does.
  Vec x = clamp(given, -18, 88.8);
  auto [n, r] = reduce_exp(x);
  Vec p =
      polynomial(r, {0.5f, 0.16666666f, 0.041666336f, 0.008333394f, 0.0013942698f, 0.00019846042f});
  p = fma(r * r, p, r);
  Vec half = power_of_two(n - 1.0);
  Vec y = fma(half, p, half - 0.5);
  // A zero keeps its sign, and NaN stays NaN.
  return select(given == 0.0, given, y + y);
}

Vec log_f32(Vec x) {
  const auto [e, m] = scaled_of(x);
  return log_of(e, m - 1.0);
}

// With u = 1 + x, rounded, and its rounding error, 1 + x is 2^e (m + error / 2^e) for u = 2^e m. If
// x is -1 or infinite, the scaled error is NaN; any number does then.
Vec log1p_f32(Vec x) {
  Vec u = 1.0 + x;
  Vec error = x - (u - 1.0);
  const auto [e, m] = scaled_of(u, Denormals::kNone);
  Vec rest = fast_max(divided_by_power(error, e), x.like(-1));
  // A zero keeps its sign.
  return copy_sign(log_of(e, rest + (m - 1.0)), x);
}

// x = n pi + r with |r| hardly above pi/2, and sin(x) = (-1)^n sin(r). This needs one polynomial; a
// reduction by pi/2 would need two. pi is the sum of three positive parts, so that x = -0 has
// r = -0; x minus n times the first part is exact. With these coefficients the error in float
// arithmetic is least: 1.80 ulp over all |x| < 2^17, and no result is above 1.
static Vec sin_f32(Vec x) {
  Vec shifted = fma(x, as_f32(1 / kPi), kMagic);
  Vec n = shifted - kMagic;
  Vec r = fma(-n, 0x1.921fb4p+1, x);
  r = fma(-n, 0x1.4442d0p-23, r);
  r = fma(-n, 0x1.84698ap-47, r);
  Vec square = r * r;
  Vec p = polynomial(square, {-0x1.55554ap-3, 0x1.110ed2p-7, -0x1.9f70c2p-13, 0x1.5dafb8p-19});
  Vec value = copy_sign(fma(r * square, p, r), r);  // the sum would be +0 for r = -0
  value = float_of_bits(bits_of(value) ^ (bits_of(shifted) << 31));
  return fix_huge_angles(x, abs(x), value, kSinLanes);
}

Vec sin_cos_f32(Vec x, bool cosine) {
  if (!cosine) return sin_f32(x);
  Vec a = abs(x);
  auto [quadrant, r] = reduce_angle(a);
  quadrant = quadrant + quadrant.like_int(1);
  Vec square = r * r;
  Vec odd = (quadrant & quadrant.like_int(1)) != quadrant.like_int(0);
  Vec value = select(odd, cos_poly(square), sin_poly(r, square));
  Vec sign = quadrant << 30;
  value = float_of_bits(bits_of(value) ^ (sign & sign.like_int(0x80000000)));
  return fix_huge_angles(x, a, value, kCosLanes);
}

// tanh(|x|) is w = h / (h + 1) with h = (exp(2|x|) - 1) / 2 = 2^n p + (2^n - 1) / 2 and
// p = (exp(2r) - 1) / 2. Near 0, where the rounding of h + 1 would cost too much, the result is
// h - h w, which equals w.
Vec tanh_f32(Vec x) {
  constexpr double kShift = kMagic + 127;  // n + kShift has the exponent of 2^n in its low bits
  Vec y = fast_min(x.like(10), abs(x));
  Vec shifted = fma(y, as_f32(2 / 0.693147180559945309417), kShift);
  Vec n = shifted - kShift;
  Vec r = fma(-n, as_f32(0.693147180559945309417 / 2), y);
  Vec p = polynomial(r, {2 * 0.49999997f, 4 * 0.16666546f, 8 * 0.041667435f, 16 * 0.008366256f,
                         32 * 0.0013870639f});
  p = fma(r * r, p, r);
  Vec power = float_of_bits(bits_of(shifted) << 23);
  Vec h = fma(power, p, fma(power, 0.5, -0.5));
  Vec w = h / (h + 1.0);
  return copy_sign(select(y < 0.375, fma(-h, w, h), w), x);
}

// Returns c / (c + c exp(-x)). With c = 2^-25 nothing overflows before the result is below the
// subnormal numbers, and what underflows does not change the result.
Vec logistic_f32(Vec given) {
  constexpr double kShift = kMagic + 127 - 25;  // n + kShift ends in the exponent of c 2^n
  Vec x = clamp(given, -105, 70);
  Vec shifted = fma(x, as_f32(-1 / 0.693147180559945309417), kShift);
  Vec n = shifted - kShift;
  Vec r = fma(n, kLn2Low, fma(n, kLn2High, x));  // x = r - n ln 2
  Vec p = polynomial(r, {0.49999994f, -0.16666509f, 0.041668527f, -0.008370134f, 0.0013811704f});
  p = fma(r * r, p, -r);  // exp(-r) - 1
  Vec power = float_of_bits(bits_of(shifted) << 23);
  return 0x1p-25 / (fma(power, p, 0x1p-25) + power);
}

Vec erf_f32(Vec x) {
  Vec a = abs(x);
  Vec t = a * a;
  Vec p = polynomial(t, {0.12837917f, -0.37612632f, 0.11283664f, -0.026857706f, 0.0051969523f,
                         -0.00080977037f, 8.185094e-05f});
  Vec small = fma(a, p, a);
  // q = log(erfc(a))
  Vec limited = fast_min(a.like(4), a);
  Vec q = polynomial(limited, {-0.00016646138f, -1.1277971f, -0.63697624f, -0.10411354f,
                               0.022315137f, -0.0030654683f, 0.00019821708f});
  Vec large = 1.0 - exp_f32(q);
  return copy_sign(select(a < 0.92, small, large), x);
}

// Evaluates the polynomials in w = -log(1 - x^2) of M. Giles, "Approximating the erfinv function"
// (2010), as JAX does.
Vec erf_inv_f32(Vec x) {
  Vec u = 1.0 - x * x;  // the square is rounded first, as in JAX
  auto [e, f] = reduce_log(bits_of(u));
  Vec w = -(f * polynomial(f, {0.99999934f, -0.49999753f, 0.33341718f, -0.25017565f, 0.19726603f,
                               -0.1626717f, 0.174669f, -0.16078143f}));
  w = fma(e, -0.693147180559945309417, w);
  Vec p = polynomial(w - 2.5,
                     {1.50140941f, 0.246640727f, -0.00417768164f, -0.00125372503f, 0.00021858087f,
                      -4.39150654e-06f, -3.5233877e-06f, 3.43273939e-07f, 2.81022636e-08f});
  // The other lanes have w >= 5 (one number in 300 of (-1, 1)), |x| >= 1 or NaN.
  Vec central = u > 0.0067379470;
  p = unlikely(any(~central), p, [&] {
    Vec tail = polynomial(sqrt(w) - 3.0,
                          {2.83297682f, 1.00167406f, 0.00943887047f, -0.0076224613f, 0.00573950773f,
                           -0.00367342844f, 0.00134934322f, 0.000100950558f, -0.000200214257f});
    tail = select(u == 0.0, kInf, tail);
    tail = select(u < 0.0, kNan, tail);
    return select(central, p, tail);
  });
  return p * x;
}

Vec asin_f32(Vec x) {
  auto [big, p] = asin_parts(abs(x));
  Vec large = fma(p, -2.0, as_f32(kPi / 2)) + low_part(kPi / 2);
  return copy_sign(select(big, large, p), x);
}

Vec acos_f32(Vec x) {
  auto [big, p] = asin_parts(abs(x));
  Vec twice = p + p;
  Vec large = select(x < 0.0, (as_f32(kPi) - twice) + low_part(kPi), twice);
  Vec signed_p = copy_sign(p, x);
  Vec small = as_f32(kPi / 2) - (signed_p - low_part(kPi / 2));
  return select(big, large, small);
}

Vec atan_f32(Vec x) {
  Vec a = abs(x);
  Vec inverted = a > 1.0;
  Vec p = atan_poly(select(inverted, 1.0 / a, a));
  Vec large = (as_f32(kPi / 2) - p) + low_part(kPi / 2);
  return copy_sign(select(inverted, large, p), x);
}

Vec atan2_f32(Vec y, Vec x) {
  Vec ax = abs(x), ay = abs(y);
  Vec steep = ay > ax;
  Vec top = select(steep, ax, ay), bottom = select(steep, ay, ax);
  Vec q = top / bottom;
  // 0/0 becomes 0, and inf/inf becomes 1.
  q = select(top == bottom, select(top == 0.0, 0.0, q.like(1)), q);
  Vec p = atan_poly(q);
  Vec r = select(steep, (as_f32(kPi / 2) - p) + low_part(kPi / 2), p);
  Vec negative = bits_of(x) < bits_of(x).like_int(0);
  r = select(negative, (as_f32(kPi) - r) + low_part(kPi), r);
  r = copy_sign(r, y);
  return select(is_nan(x) | is_nan(y), x + y, r);
}

Vec sinh_f32(Vec x) {
  Vec a = abs(x), t = x * x;
  Vec small =
      fma(a * t, polynomial(t, {0.16666666f, 0.008333356f, 0.00019834965f, 2.8236823e-06f}), a);
  Vec half = exp_scaled_f32(a, -1);
  return copy_sign(select(a < 1.0, small, half - 0.25 / half), x);
}

Vec cosh_f32(Vec x) {
  Vec half = exp_scaled_f32(abs(x), -1);
  return half + 0.25 / half;
}

}  // namespace tessera::codegen
