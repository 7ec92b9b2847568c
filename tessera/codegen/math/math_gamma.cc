// The logarithm of the gamma function and its derivative, digamma, for float64; those of float32
// are these, rounded. The polynomials interpolate at Chebyshev's nodes, with an error below a
// rounding.
#include <limits>

#include "tessera/codegen/helpers.h"
#include "tessera/codegen/math/elementary.h"

namespace tessera::codegen {
namespace {

constexpr double kNoLimit = std::numeric_limits<double>::infinity();
constexpr double kNoNumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kCirclePi = 3.14159265358979323846;

// Returns lgamma(2 + d) / (d (1 + d)) for d in [-1, 1/2], where 1 and 2 are the zeros of lgamma.
Vec lgamma_slope(Vec d) {
  return polynomial(d, {0.42278433509846713,    -0.10031730167435364,   0.03296500062115426,
                        -0.01238419219342549,   0.004998641164825213,   -0.002108130830829956,
                        0.0009153769193331747,  -0.0004057074808388794, 0.000182552637680546,
                        -8.30939198651485e-05,  3.816980476924877e-05,  -1.7671676469105627e-05,
                        8.207856505261183e-06,  -3.801597688095123e-06, 1.911608575161866e-06,
                        -9.403407544212204e-07, 1.4425579993472215e-08, -3.0047995251347475e-07,
                        7.739811734147986e-07,  7.051540265756957e-07,  -1.7898878266475367e-07,
                        -8.66945987804204e-07,  -5.929080536705197e-07, -1.5069416728386754e-07});
}

// Returns lgamma(a) for a >= 0. From 5.5 on it is Stirling's series. Below, with an n for which
// d = a - n is in [-1/2, 1/2], it is
//   log((a - 1) ... (a - n + 2)) + lgamma(2 + d)    for a in [2.5, 5.5),
//   lgamma(2 + d)                                   for a in [1, 2.5), where n = 2, and
//   lgamma(1 + a) - log(a)                          for a < 1.
Vec lgamma_of_positive(Vec a) {
  Vec far = a >= 5.5, below = a < 1.0;
  Vec n = fast_min(a.like(5), fast_max(a.like(2), round_even(a)));
  Vec product = select(n >= 3.0, a - 1.0, a.like(1));
  product = select(n >= 4.0, product * (a - 2.0), product);
  product = select(n >= 5.0, product * (a - 3.0), product);
  const auto [leading, rest] = log_parts_f64(select(far | below, a, product));

  // For a < 1 the rounding of d hardly matters, but that of d + 1 would.
  Vec d = a - select(below, 1.0, n), after = select(below, a, d + 1.0);
  Vec slope = lgamma_slope(d);
  Vec factor = d * after, value = factor * slope;
  Vec value_low = fma(fma(d, after, -factor), slope, fma(factor, slope, -value));
  Vec near = select(below, -leading, leading) + (value + (select(below, -rest, rest) + value_low));
  near = select(a == 0.0, kNoLimit, near);

  // (a - 1/2) (log(a) - 1) - 1/2 + log(2 pi)/2 + 1/(12 a) - ..., where leading - 1 is exact.
  Vec inverse = 1.0 / a;
  Vec series = polynomial(
      inverse * inverse,
      {0.08333333333333325, -0.0027777777775246644, 0.0007936506700327803, -0.0005952152496621213,
       0.0008397118359030872, -0.001821556267232262, 0.004018639124872706});
  Vec x = a - 0.5, logarithm = leading - 1.0;
  Vec high = x * logarithm;
  Vec low = fma(x, rest, fma(inverse, series, 0.41893853320467274178)) + fma(x, logarithm, -high);
  return select(far, select(high == kNoLimit, high, high + low), near);
}

// Returns the fractional part of a >= 0; NaN for an infinity.
Vec fraction_of(Vec a) { return a - floor(a); }

// Returns psi(z) for z > 0, the derivative of lgamma. From 5 on it is an asymptotic series. Below
// it is psi(1 + u) for the fractional part u, plus 1/(u + 1) + ... + 1/(z - 1), which is computed
// as one quotient; for z < 1 the quotient is -1/z. psi(1 + u) is the distance from its zero times a
// polynomial.
Vec digamma_of_positive(Vec z) {
  constexpr double kZeroLess1 = 0x1.d8b618d5af8fep-2, kZeroRest = -1.5522348162858677e-17;
  Vec far = z >= 5.0;
  Vec n = fast_min(z.like(4), floor(z));
  Vec u = z - n;
  Vec t = (u - kZeroLess1) - kZeroRest;
  Vec slope =
      polynomial(t, {0.9676722454476211,     -0.4427631689835922,    0.25849976095572064,
                     -0.16394270544242373,   0.10782405068107259,    -0.07219956124992488,
                     0.048804288741289295,   -0.03316112699320711,   0.0225976316929306,
                     -0.015424747537114432,  0.010539061943021072,   -0.007204887636665922,
                     0.00492412800378769,    -0.0033658064297729276, 0.002320801434925492,
                     -0.0016041372623941908, 0.0010264318033223576,  -0.0006295906884464421,
                     0.0005829007686901187,  -0.0005719635634757139, 0.0002522590506964885});
  Vec first = n == 0.0;
  Vec above = select(first, z.like(-1), 0.0), under = select(first, u, z.like(1));
  for (int k = 1; k < 4; ++k) {
    Vec term = u + static_cast<double>(k), has = n > static_cast<double>(k);
    above = select(has, fma(above, term, under), above);
    under = select(has, under * term, under);
  }
  Vec quotient = select(far, z.like(1), above) / select(far, z, under);
  Vec near = fma(t, slope, quotient);

  const auto [leading, rest] = log_parts_f64(z);
  Vec square = quotient * quotient;
  Vec series = polynomial(square, {0.08333333333333313, -0.008333333332680548, 0.003968253621723726,
                                   -0.004166595844467421, 0.007568541641543695,
                                   -0.02068332553063843, 0.06980249380638204, -0.1806293716338859});
  Vec asymptotic = leading + (rest - fma(quotient, 0.5, square * series));
  return select(far, select(z == kNoLimit, z, asymptotic), near);
}

}  // namespace

// Negative numbers take the reflection formula, log(pi / (|x| |sin(pi x)|)) - lgamma(|x|). Where
// most of it cancels, near the zeros, the C function is called.
Vec lgamma_f64(Vec x) {
  Vec a = abs(x), positive = lgamma_of_positive(a), negative = x < 0.0;
  return unlikely(any(negative), positive, [&] {
    Vec fraction = fraction_of(a);
    Vec y = log_f64(kCirclePi / (a * sin_pi_f64(fraction))) - positive;
    y = select(a < 0x1p-60, positive, y);  // the formula would divide by a denormal number
    y = select(fraction > 0.0, y, kNoLimit);
    Vec cancelled = negative & (abs(y) < fast_max(0.5 * abs(positive), x.like(0.25)));
    y = select(negative, y, positive);
    return unlikely(any(cancelled), y,
                    [&] { return select(cancelled, call_lanes(kLgammaLanesF64, x), y); });
  });
}

// Negative numbers take the reflection formula, psi(1 - x) - pi cot(pi x). The poles give NaN, but
// for 0 (of either sign), where the limit is an infinity, as in SciPy.
Vec digamma_f64(Vec x) {
  Vec reflect = x <= 0.0;
  Vec y = digamma_of_positive(select(reflect, 1.0 - x, x));
  return unlikely(any(reflect), y, [&] {
    Vec a = abs(x), fraction = fraction_of(a);
    // The distance from the nearest integer, which is exact.
    Vec reflected = y + pi_cotangent_f64(select(fraction > 0.5, fraction - 1.0, fraction));
    reflected = select(fraction > 0.0, reflected, kNoNumber);
    reflected = select(a < 0x1p-60, -1.0 / x, reflected);
    return select(reflect, reflected, y);
  });
}

Vec lgamma_f32(Vec x) { return narrow(lgamma_f64(widen(x))); }
Vec digamma_f32(Vec x) { return narrow(digamma_f64(widen(x))); }

}  // namespace tessera::codegen
