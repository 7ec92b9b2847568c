#include "tessera/ops/core/scalar_emit_pairs.h"

#include <numbers>

#include "tessera/ops/core/scalar_formulas.h"

namespace tessera::ops::emit::formulas {
namespace {

Pair with_low(Real x, ScalarOp function, ScalarOp low) { return {x.apply(function), x.apply(low)}; }
Pair exp_pair(Real x) { return with_low(x, ScalarOp::kExp, ScalarOp::kExpLow); }
Pair expm1_pair(Real x) { return with_low(x, ScalarOp::kExpm1, ScalarOp::kExpm1Low); }
Pair sin_pair(Real x) { return with_low(x, ScalarOp::kSin, ScalarOp::kSinLow); }
Pair cos_pair(Real x) { return with_low(x, ScalarOp::kCos, ScalarOp::kCosLow); }
Pair one_like(Real x) { return pair(x.number(1)); }

struct HyperbolicPairs {
  Pair sinh, cosh, exp;
};
// Returns sinh, cosh and exp of x >= 0, all from e = expm1(x); q = e / (1 + e) is 1 - exp(-x).
HyperbolicPairs hyperbolic_pairs(Real x) {
  const Pair e = expm1_pair(x), exp = 1.0 + e, q = e / exp;
  return {scaled(e + q, 0.5), 1.0 + scaled(e - q, 0.5), exp};
}
// For larger arguments, sinh and cosh equal exp / 2. They may overflow although their product with
// a sine does not.
constexpr double kLargeExponent = 700;

// sinh(|x|) = sinh * rest and cosh(|x|) = cosh * rest; none of the factors overflows.
struct Factors {
  Pair sinh, cosh, rest;
};
Factors hyperbolic_factors(Real x) {
  const Real a = abs(x);
  const Bool large = a > kLargeExponent;
  const HyperbolicPairs h = hyperbolic_pairs(select(large, 0.5 * a, a));
  return {select(large, h.exp, h.sinh), select(large, h.exp, h.cosh),
          select(large, scaled(h.exp, 0.5), one_like(x))};
}

}  // namespace

Real angle_at_infinity(Real y, Real x) {
  return select(is_number(x) & is_number(y), atan2(boxed(y), boxed(x)), nan_like(x));
}
Real acos_angle(Complex z, Real finite) {
  const Real right_angle = z.re.number(std::numbers::pi / 2);
  return select(has_infinity(z), angle_at_infinity(abs(z.im), z.re),
                select((z.re == 0.0) & !is_number(z.im), right_angle, finite));
}
Complex exp_at_infinity(Complex z, Real whole) {
  return {whole, select(z.re < 0.0, copysign(z.re.number(0), z.im), nan_like(z.im))};
}
Complex sinh_undirected(Complex z) {
  const Real nan = nan_like(z.re);
  return {select(z.re == 0.0, z.re, select(is_infinite(z.re), infinity_like(z.re), nan)), nan};
}
Complex cosh_undirected(Complex z) {
  const Real nan = nan_like(z.re);
  return {select(is_infinite(z.re), infinity_like(z.re), nan),
          select(z.re == 0.0, z.re.number(0), nan)};
}

Complex exp_by_pairs(Complex z) {
  // If exp(x) may overflow, it is the product of two factors exp(x/2), so that the product with a
  // sine overflows only if the result does.
  const Bool large = z.re > kLargeExponent;
  const Pair first = exp_pair(select(large, 0.5 * z.re, z.re));
  const Pair second = select(large, first, one_like(z.re));
  const Pair c = cos_pair(z.im), s = sin_pair(z.im);
  const Real whole = value(first * second);
  const Complex plain = {value(first * c * second), value(first * s * second)};
  return select(z.im == 0.0, {whole, z.im},
                select(is_infinite(z.re) & !is_finite(z.im), exp_at_infinity(z, whole), plain));
}

Complex expm1_by_pairs(Complex z) {
  const Pair c = cos_pair(z.im), s = sin_pair(z.im);
  // less_one is cos y - 1, computed in another way near 0, where the difference would cancel.
  const Pair less_one = select(c.high > 0.5, -(square(s) / (1.0 + c)), -1.0 + c);
  const Real re = value(expm1_pair(z.re) * c + less_one);
  const Complex e = exp_by_pairs(z);
  return {select(is_infinite(z.re) | (z.re > kLargeExponent), e.re - 1.0, re), e.im};
}

Complex logistic_by_pairs(Complex z) {
  // With a = |x| and g = exp(a), the result is (g + cos y + i sin y) / d for x >= 0 and
  // (1/g + cos y + i sin y) / d for x < 0. Here d = g + 1/g + 2 cos y is computed as
  // (g - 1)^2 / g + 2 (1 + cos y), a sum of two terms that are not negative.
  const Real a = min(abs(z.re), z.re.number(2 * kLargeExponent));
  const Bool left = z.re<0.0, large = a> 40.0;
  const Pair e = expm1_pair(select(large, 0.5 * a, a)), g = 1.0 + e, inverse = one_like(a) / g;
  const Pair c = cos_pair(z.im), s = sin_pair(z.im);
  const Pair one_plus = select(c.high < 0.0, square(s) / (1.0 + -c), 1.0 + c);
  // If g is large, d equals g, and the result is 1 + i sin y / g for x >= 0 and
  // (cos y + i sin y) / g for x < 0. Then the code divides by exp(a/2) twice.
  const Pair d = select(large, g, e * (e * inverse) + scaled(one_plus, 2));
  const Pair top = select(large, c, select(left, inverse, g) + c);
  const Pair again = select(large, inverse, one_like(a));
  const Complex plain = {select(large & !left, a.number(1), value(top / d * again)),
                         select((z.im == 0.0) & is_number(z.re), z.im, value(s / d * again))};
  const Complex undirected = {select(left, a.number(0), a.number(1)), a.number(0)};
  return select(is_infinite(z.re) & !is_finite(z.im), undirected, plain);
}

Complex sinh_by_pairs(Complex z) {
  const Factors f = hyperbolic_factors(z.re);
  const Real re = value(f.sinh * cos_pair(z.im) * f.rest);
  const Real im = value(f.cosh * sin_pair(z.im) * f.rest);
  const Complex plain = {re * with_sign_of(re.number(1), z.re), select(z.im == 0.0, z.im, im)};
  return select(is_finite(z.im), plain, sinh_undirected(z));
}

Complex cosh_by_pairs(Complex z) {
  const Factors f = hyperbolic_factors(z.re);
  const Real re = value(f.cosh * cos_pair(z.im) * f.rest);
  const Real im = value(f.sinh * sin_pair(z.im) * f.rest);
  const Real sign = with_sign_of(re.number(1), z.re);
  const Complex plain = {re, sign * select(z.im == 0.0, re.number(0) * z.im, im)};
  return select(is_finite(z.im), plain, cosh_undirected(z));
}

Complex tanh_by_pairs(Complex z) {
  // The result is (sinh x cosh x + i sin y cos y) / (sinh^2 x + cos^2 y). For |x| > 20 its real
  // part is 1 with the sign of x, and its imaginary part 4 sin y cos y exp(-2|x|).
  const Real a = min(abs(z.re), z.re.number(kLargeExponent)), one = a.number(1);
  const Bool large = a > 20.0;
  const HyperbolicPairs h = hyperbolic_pairs(a);
  const Pair c = cos_pair(z.im), s = sin_pair(z.im);
  const Pair d = select(large, h.exp, square(h.sinh) + square(c));
  const Real re = select(large, one, value(h.sinh * h.cosh / d));
  const Real im = value(s * c / d) * select(large, 4.0 / h.exp.high, one);
  const Bool directed = is_finite(z.im);
  const Complex undirected = {
      select(is_infinite(z.re), one, select(z.re == 0.0, abs(z.re), nan_like(re))),
      select(is_infinite(z.re), with_sign_of(re.number(0), z.im), nan_like(re))};
  const Real magnitude = select(directed, re, undirected.re);
  return {select(is_number(z.re), with_sign_of(magnitude, z.re), z.re),
          select(z.im == 0.0, z.im, select(directed, im, undirected.im))};
}

namespace {

// The square root of x + iy is unit * (p + iq) for x >= 0 and unit * (|q| + ip) for x < 0, where
// the imaginary part has the sign of y. |x + iy| is unit^2 * norm. `unit` is a power of 2.
struct Root {
  Pair p, q, norm;  // they are not negative, and p >= q
  Real unit;
  Bool right, zero;
};
Root root_of(Pair x, Real y) {
  const Real a = abs(x.high), b = abs(y), one = a.number(1), largest = max(a, b);
  // Very large and very small numbers are scaled, so that squares neither overflow nor lose bits.
  const Bool huge = largest > 0x1p500, tiny = largest < 0x1p-500, right = x.high >= a.number(0);
  const Real scale = select(huge, a.number(0x1p-600), select(tiny, a.number(0x1p600), one));
  const Real unit = select(huge, a.number(0x1p300), select(tiny, a.number(0x1p-300), one));
  const Pair xs = scaled({a, select(right, x.low, -x.low)}, scale);
  const Real ys = b * scale;
  const Pair norm = root(square(xs) + square(pair(ys)));
  const Pair p = root(scaled(norm + xs, 0.5));
  const Bool zero = largest == 0.0;
  const Pair q = select(zero, pair(ys), pair(0.5 * ys) / p);
  return {p, q, norm, unit, right, zero};
}

// Magnitudes that are computed from the square roots of 1 - z and 1 + z, and from which the inverse
// functions follow (Kahan, "Branch cuts for complex elementary functions", 1987).
struct Roots {
  Pair minus_re, plus_re;  // the real parts of the roots
  Pair sinh;               // sinh of the imaginary part of asin z
  Pair bottom;             // x / bottom is the tangent of the real part of asin z
};
Roots roots_of(Complex z) {
  const Root minus = root_of(sum(z.re.number(1), -z.re), z.im);
  const Root plus = root_of(sum(z.re.number(1), z.re), z.im);
  const auto re = [](const Root& r) { return scaled(select(r.right, r.p, r.q), r.unit); };
  const auto im = [](const Root& r) { return scaled(select(r.right, r.q, r.p), r.unit); };
  return {re(minus), re(plus), re(minus) * im(plus) + im(minus) * re(plus),
          re(minus) * re(plus) + im(minus) * im(plus)};
}

// Returns log(1 + x) with the error of log and one more rounding.
Real log1p_of(Pair x) {
  const Pair u = 1.0 + x;
  const Real y = log(u.high);
  return select(is_infinite(u.high), y, y + u.low / u.high);
}
// Returns asinh(x) = log1p(x + x^2 / (1 + sqrt(1 + x^2))) for x >= 0.
Real asinh_of(Pair x) {
  const Pair xx = square(x);
  const Real y = log1p_of(x + xx / (1.0 + root(1.0 + xx)));
  return select(x.high > 0x1p28, log(x.high) + std::numbers::ln2, y);
}
// Returns atan(y / x) for x, y >= 0, not both zero: a multiple of pi / 4 and the arctangent of a
// number of at most tan(pi / 8), where atan() is accurate enough.
Pair angle_of(Pair y, Pair x) {
  constexpr double kSlope = 0.41421356237309503, kRightAngleLow = 0x1.1a62633145c07p-54;
  const Bool steep = x.high < kSlope * y.high, flat = !(y.high > kSlope * x.high);
  const Pair half_y = scaled(y, 0.5), half_x = scaled(x, 0.5);
  const Pair numerator = select(steep, -x, select(flat, y, half_y - half_x));
  const Pair q = numerator / select(steep, y, select(flat, x, half_y + half_x));
  const Real low = q.low / (1.0 + q.high * q.high), zero = low.number(0);
  const Pair acute = {atan(q.high), select(is_finite(low), low, zero)};
  const Pair right_angle = {low.number(std::numbers::pi / 2), low.number(kRightAngleLow)};
  const Pair start = select(steep, right_angle, scaled(right_angle, 0.5));
  const Pair turned = start + acute;
  return select(steep | !flat, turned, acute);
}

Real acos_of(Complex z, const Roots& roots) {
  return acos_angle(z, 2.0 * value(angle_of(roots.minus_re, roots.plus_re)));
}

}  // namespace

Complex rsqrt_by_pairs(Complex z) {
  const Root r = root_of(pair(z.re), z.im);
  const Real p = value(r.p / r.norm), q = value(r.q / r.norm), unit = 1.0 / r.unit;
  const Complex plain = {select(r.right, p, q) * unit,
                         with_sign_of(select(r.right, q, p) * unit, -z.im)};
  const Complex of_zero = {infinity_like(p), nan_like(p)};
  const Complex of_infinity = {p.number(0), copysign(p.number(0), -z.im)};
  return select(has_infinity(z), of_infinity, select(r.zero, of_zero, plain));
}

Complex asin_by_pairs(Complex z) {
  const Roots roots = roots_of(z);
  const Real angle = value(angle_of(pair(abs(z.re)), roots.bottom));
  const Complex plain = {with_sign_of(angle, z.re), with_sign_of(asinh_of(roots.sinh), z.im)};
  const Complex far = {angle_at_infinity(z.re, abs(z.im)), copysign(infinity_like(z.re), z.im)};
  const Real re = select((z.re == 0.0) & !is_number(z.im), z.re, plain.re);
  return select(has_infinity(z), far, {re, plain.im});
}

Complex acos_by_pairs(Complex z) {
  const Roots roots = roots_of(z);
  return {acos_of(z, roots), select(has_infinity(z), -copysign(infinity_like(z.re), z.im),
                                    with_sign_of(asinh_of(roots.sinh), -z.im))};
}

Complex acosh_by_pairs(Complex z) {
  const Roots roots = roots_of(z);
  return {select(has_infinity(z), infinity_like(z.re), asinh_of(roots.sinh)),
          copysign(acos_of(z, roots), z.im)};
}

Complex atanh_by_pairs(Complex z) {
  const Real x = abs(z.re), y = z.im, zero = x.number(0);
  const Pair left = sum(x.number(1), -x), yy = square(pair(y));
  const Pair norm = square(left) + yy;
  // The real part is log1p(4x / norm) / 4. If x is 1 and |y| is so small that the norm is 0 or has
  // lost bits, it is log(2 / |y|) / 2.
  const Bool near = (left.high == 0.0) & (abs(y) < 0x1p-400);
  const Real re =
      select(near, 0.5 * (std::numbers::ln2 - log(abs(y))), 0.25 * log1p_of(pair(4.0 * x) / norm));
  // The imaginary part is half the angle of (1 - x) (1 + x) - y^2 + 2yi, with the sign of y.
  const Pair across = left * sum(x.number(1), x) - yy;
  const Bool obtuse = across.high < 0.0;
  const Pair acute = angle_of(pair(2.0 * abs(y)), select(obtuse, -across, across));
  // Here pi is rounded down.
  const Real angle =
      select(obtuse, x.number(std::numbers::pi) - (acute.high + acute.low), value(acute));
  // On the real axis the angle is 0 or pi, or NaN if x is NaN.
  const Real on_axis = select(obtuse, angle, select(is_number(x), zero, x));
  const Real im = with_sign_of(0.5 * select(y == 0.0, on_axis, angle), y);
  const Real right_angle = copysign(x.number(std::numbers::pi / 2), y);
  const Complex far = {copysign(zero, z.re), select(is_number(y), right_angle, y)};
  const Complex plain = {select((x == 0.0) & !is_number(y), z.re, with_sign_of(re, z.re)), im};
  return select(has_infinity(z), far, plain);
}

}  // namespace tessera::ops::emit::formulas
