// Functions of float64: the hyperbolic functions and their inverses, which are computed by
// expm1 and log1p; and the inverses of the tangent, the sine, the cosine and the error function.
// The polynomials interpolate at Chebyshev's nodes, with an error below a rounding.
#include <cmath>
#include <limits>

#include "tessera/codegen/math/elementary.h"

namespace tessera::codegen {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0x1.62e42fefa39efp-1;
constexpr double kHalfPi = 0x1.921fb54442d18p+0, kHalfPiRest = 0x1.1a62633145c07p-54;
constexpr double k3QuarterPi = 0x1.2d97c7f3321d2p+1, k3QuarterPiRest = 0x1.a79394c9e8a0ap-54;
// For x from kLarge on, 1 + x^2 is rounded to x^2.
constexpr double kLarge = 0x1p28;
// For larger x, exp(x) may overflow although exp(x) / 2 is finite.
constexpr double kExpOverflows = 709;

// Returns exp(a) / 2, also if exp(a) overflows.
Vec half_exp(Vec a) {
  Vec root = exp_f64(a * 0.5);
  return (root * 0.5) * root;
}

// Returns atan(r) for |r| <= tan(pi / 8).
Vec atan_reduced(Vec r) {
  Vec square = r * r;
  Vec p = polynomial(square, {-0.3333333333333333, 0.199999999999998, -0.14285714285658824,
                              0.1111111110505757, -0.09090908748635232, 0.07692296234491514,
                              -0.06666422364033206, 0.05878900032342983, -0.052302411507894,
                              0.045506220391755364, -0.034545610104858494, 0.016258132064979208});
  return fma(r * square, p, r);
}

// An angle as base + reduced + rest. The base is pi/2 if `steep`, 0 if `flat`, otherwise pi/4.
struct SplitAngle {
  Vec steep, flat;
  Vec reduced, rest;
};
// Returns atan(y / x) for x, y >= 0, not both zero, as atan(y / x), pi/2 - atan(x / y) or
// pi/4 + atan((y - x) / (y + x)). The rest contains the rounding errors of the quotient and, in the
// last case, of the difference and the sum (by Knuth's TwoSum).
SplitAngle split_angle(Vec y, Vec x) {
  Vec steep = x < y * 0.41421356237309503, flat = y <= x * 0.41421356237309503;
  Vec difference = y - x, sum = y + x;
  Vec minus_x = difference - y, plus_x = sum - y;
  Vec difference_low = (y - (difference - minus_x)) - (x + minus_x);
  Vec sum_low = (y - (sum - plus_x)) + (x - plus_x);
  Vec numerator = select(steep, -x, select(flat, y, difference));
  Vec denominator = select(steep, y, select(flat, x, sum));
  Vec quotient = numerator / denominator;
  Vec lost = fma(-quotient, denominator, numerator);
  lost = lost + select(steep | flat, 0.0, fma(-quotient, sum_low, difference_low));
  return {steep, flat, atan_reduced(quotient), lost / denominator};
}

Vec atan_of_quotient(Vec y, Vec x) {
  const auto [steep, flat, reduced, rest] = split_angle(y, x);
  Vec high = select(steep, y.like(kHalfPi), select(flat, 0.0, y.like(kHalfPi / 2)));
  Vec low = select(steep, y.like(kHalfPiRest), select(flat, 0.0, y.like(kHalfPiRest / 2)));
  return high + (reduced + (low + rest));
}

}  // namespace

Vec sinh_f64(Vec x) {
  Vec a = abs(x);
  Vec e = expm1_f64(a);
  // sinh(a) = (e + e / (e + 1)) / 2. Below 1 it is computed as e - e^2 / (e + 1) / 2, where the
  // error of the quotient counts less.
  Vec quotient = e / (e + 1.0);
  Vec y = select(a < 1.0, fma(e * -0.5, quotient, e), 0.5 * (e + quotient));
  Vec large = a >= kExpOverflows;
  return copy_sign(unlikely(any(large), y, [&] { return select(large, half_exp(a), y); }), x);
}

Vec cosh_f64(Vec x) {
  Vec a = abs(x);
  Vec e = exp_f64(a);
  Vec y = 0.5 * e + 0.5 / e;
  Vec large = a >= kExpOverflows;
  return unlikely(any(large), y, [&] { return select(large, half_exp(a), y); });
}

Vec asinh_f64(Vec x) {
  Vec a = abs(x);
  Vec square = a * a;
  Vec y = log1p_f64(a + square / (1.0 + sqrt(square + 1.0)));
  Vec large = a >= kLarge;
  y = unlikely(any(large), y, [&] { return select(large, log_f64(a) + kLn2, y); });
  return copy_sign(y, x);
}

Vec acosh_f64(Vec x) {
  Vec t = x - 1.0;
  Vec y = log1p_f64(t + sqrt(t * (t + 2.0)));
  Vec large = x >= kLarge;
  y = unlikely(any(large), y, [&] { return select(large, log_f64(x) + kLn2, y); });
  return select(x < 1.0, x.like(std::numeric_limits<double>::quiet_NaN()), y);
}

// Returns log1p(q) / 2 for the rounded q = 2a / (1 - a) with a = |x|. The rounding errors of q
// change the logarithm by the remainder of the division, divided by 1 + a; for this a parabola near
// 1 / (1 + a) is exact enough.
Vec atanh_f64(Vec x) {
  Vec a = abs(x), twice = a + a;
  Vec rest = 1.0 - a, rest_low = (1.0 - rest) - a;
  Vec q = twice / rest;
  Vec remainder = fma(-q, rest, twice) - q * rest_low;
  Vec inverse = fma(a, fma(a, x.like(0.457), x.like(-0.957)), x.like(1));
  Vec y = log1p_f64(q);
  return copy_sign(0.5 * select(a < 0.5, fma(remainder, inverse, y), y), x);
}

Vec atan_f64(Vec x) {
  // From 2^60 on the result is pi/2. The limit also keeps the quotient finite.
  Vec a = fast_min(x.like(0x1p60), abs(x));
  return copy_sign(atan_of_quotient(a, a.like(1)), x);
}

// Infinities and zeros give what C99 prescribes; the sign of a zero x counts.
Vec atan2_f64(Vec y, Vec x) {
  Vec ax = abs(x), ay = abs(y);
  // Very large and very small numbers are scaled, so that sums do not overflow and quotients do not
  // lose bits to subnormal numbers.
  Vec larger = fast_max(ax, ay);
  Vec scale = select(larger > 0x1p1000, x.like(0x1p-100),
                     select(larger < 0x1p-900, x.like(0x1p100), x.like(1)));
  Vec infinite = larger == kInfinity, zero = larger == 0.0;
  Vec sx = select(infinite, select(ax == kInfinity, x.like(1), 0.0), ax * scale);
  Vec sy = select(infinite, select(ay == kInfinity, x.like(1), 0.0), ay * scale);
  const auto [steep, flat, reduced, rest] = split_angle(sy, select(zero, 1.0, sx));
  // For a negative x, the angle is pi minus the angle of |x|.
  Vec negative = bits_of(x) < bits_of(x).like_int(0);
  auto base = [&, steep = steep, flat = flat](double at_zero, double between, double right,
                                              double obtuse, double at_pi) {
    Vec acute_side = select(flat, x.like(at_zero), x.like(between));
    Vec obtuse_side = select(flat, x.like(at_pi), x.like(obtuse));
    return select(steep, x.like(right), select(negative, obtuse_side, acute_side));
  };
  Vec high = base(0, kHalfPi / 2, kHalfPi, k3QuarterPi, 2 * kHalfPi);
  Vec low = base(0, kHalfPiRest / 2, kHalfPiRest, k3QuarterPiRest, 2 * kHalfPiRest);
  Vec angle = high + (select(negative, -reduced, reduced) + (select(negative, -rest, rest) + low));
  return select(is_nan(x) | is_nan(y), x + y, copy_sign(angle, y));
}

Vec asin_f64(Vec x) {
  Vec a = abs(x);
  return copy_sign(atan_of_quotient(a, sqrt(fma(-a, a, 1.0))), x);
}

// 1 - x^2 is rounded once, so that it keeps its digits if |x| is near 1.
Vec acos_f64(Vec x) { return atan2_f64(sqrt(fma(-x, x, 1.0)), x); }

// Returns x times a polynomial in w = -log(1 - x^2), or in sqrt(w) for large w (M. Giles,
// "Approximating the erfinv function", 2010).
Vec erf_inv_f64(Vec x) {
  Vec w = -log_f64((1.0 - x) * (1.0 + x));
  Vec root = sqrt(w);
  // The polynomial in w without its value at 0, which is sqrt(pi)/2: it is added last, so that near
  // 0 the errors of the polynomial do not count.
  Vec slope = polynomial(w - 3.125,
                         {0.2455768439137103,      -0.0017339716761991413, -0.0013759037424729184,
                          0.00020326438666288122,  -5.289657165324322e-06, -2.7497171959320657e-06,
                          4.429593652073149e-07,   -6.233772059799611e-09, -7.307716672125382e-09,
                          1.022415645884554e-09,   9.217471400839807e-12,  -2.0274377048163627e-11,
                          2.3349989907675713e-12,  9.430420977519231e-14,  -5.6118449388664725e-14,
                          5.1981312382359505e-15,  4.4282370166185234e-16, -1.5966740576401286e-16,
                          9.791094496865778e-18,   2.2162802898429353e-18, -3.563210018217383e-19,
                          -1.2981394777012652e-20, 4.078450498289933e-21});
  Vec middle = fma(w, slope, 0.88622692545275801365);
  Vec tail = polynomial(
      root - 3.25,
      {3.0838856104922208, 1.0052589676941592, 0.0053709145535581985, -0.0037512085075638536,
       0.0024914420976198813, -0.0016882755561681802, 0.0009532893521118177,
       -0.00035503751863069763, 2.4031363245440546e-05, 6.828484052292924e-05,
       -4.731952918337189e-05, 1.2475343474376931e-05, 2.9273722115986924e-06,
       -4.013946398190292e-06, 1.4958263152984917e-06, 1.832399988132858e-08,
       -2.6860975725571463e-07, 9.071950571029922e-08, -3.831039946072411e-10});
  Vec far = w >= 16.0;
  Vec y = select(w < 6.25, middle, tail);
  y = unlikely(any(far), y, [&] {
    Vec end = polynomial(root - 5.0,
                         {4.849906401408584, 1.0103004648645413, -0.00013871931835112341,
                          -0.00021503011962944126, 7.599527735160192e-05, -1.968177348376382e-05,
                          4.5260599477720725e-06, -9.930119183482954e-07, 2.2901554497563463e-07,
                          -6.761414811460412e-08, 2.9124399186491765e-08, -1.5146221782627176e-08,
                          7.644335983557396e-09, -3.5875995609819957e-09, 1.4895546197648135e-09,
                          -3.7171553416167447e-10, -2.2467591693364936e-11, 2.752083669120488e-11});
    return select(far, end, y);
  });
  return x * select(abs(x) == 1.0, kInfinity, y);
}

}  // namespace tessera::codegen
