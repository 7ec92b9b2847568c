#include "tessera/ops/core/scalar_emit.h"

#include <limits>
#include <numbers>

namespace tessera::ops::emit {
namespace {

Real sqrt(Real x) { return x.apply(ScalarOp::kSqrt); }
Real cbrt(Real x) { return x.apply(ScalarOp::kCbrt); }
Real exp(Real x) { return x.apply(ScalarOp::kExp); }
Real expm1(Real x) { return x.apply(ScalarOp::kExpm1); }
Real log(Real x) { return x.apply(ScalarOp::kLog); }
Real log1p(Real x) { return x.apply(ScalarOp::kLog1p); }
Real sin(Real x) { return x.apply(ScalarOp::kSin); }
Real cos(Real x) { return x.apply(ScalarOp::kCos); }
Real tan(Real x) { return x.apply(ScalarOp::kTan); }
Real sinh(Real x) { return x.apply(ScalarOp::kSinh); }
Real cosh(Real x) { return x.apply(ScalarOp::kCosh); }
Real asinh(Real x) { return x.apply(ScalarOp::kAsinh); }
Real abs(Real x) { return x.apply(ScalarOp::kAbs); }
Real max(Real x, Real y) { return x.apply(ScalarOp::kMax, y); }
Real min(Real x, Real y) { return x.apply(ScalarOp::kMin, y); }
Real atan2(Real y, Real x) { return y.apply(ScalarOp::kAtan2, x); }
Bool is_finite(Real x) { return {x.b, x.b->apply(ScalarOp::kIsFinite, bool_, {x.e})}; }

// Returns `magnitude` with the sign of `x`. For zeros it is the sign of 1/x, so that -0 is
// negative.
Real copysign(Real magnitude, Real x) {
  const Real m = abs(magnitude);
  return select((x < 0.0) | (1.0 / x < 0.0), -m, m);
}

Real infinity_like(Real x) { return x.number(std::numeric_limits<double>::infinity()); }
Bool is_infinite(Real x) { return abs(x) == infinity_like(x); }
Bool is_number(Real x) { return x == x; }
// Returns 1 for infinities and 0 otherwise, with the sign of x: C99's Annex G computes with such
// directions.
Real boxed(Real x) { return copysign(select(is_infinite(x), x.number(1), x.number(0)), x); }
Real nan_like(Real x) { return x.number(std::numeric_limits<double>::quiet_NaN()); }

Complex operator-(Complex z) { return {-z.re, -z.im}; }
Complex operator*(Complex x, Complex y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
Complex conj(Complex z) { return {z.re, -z.im}; }
// i * z and -i * z.
Complex times_i(Complex z) { return {-z.im, z.re}; }
Complex times_minus_i(Complex z) { return {z.im, -z.re}; }
Real fma(Real x, Real y, Real z) {
  return {x.b, x.b->apply(ScalarOp::kFma, x.b->dtype_of(x.e), {x.e, y.e, z.e})};
}
// x + y^2, and what rounding lost in the square and in the sum (Knuth, TAOCP vol. 2, 4.2.2).
struct Sum {
  Real value, error;
};
Sum plus_square(Real x, Real y) {
  const Real square = fma(y, y, y.number(0));
  const Real value = x + square, second = value - x;
  return {value, ((x - (value - second)) + (square - second)) + fma(y, y, -square)};
}
// Returns 2 x + x^2 + y^2, which is |1 + x + iy|^2 - 1, with most of its digits even if the terms
// cancel (near the unit circle around -1). Code generation makes an fma of each product and the sum
// that follows.
Real square_norm_minus_one(Real x, Real y) {
  const Sum first = plus_square(x + x, x), all = plus_square(first.value, y);
  return all.value + (first.error + all.error);
}
Real convert(Real x, DType dtype) { return {x.b, x.b->apply(ScalarOp::kConvert, dtype, {x.e})}; }
// Functions of complex64 that are made of several real functions and products are computed in
// float64 and rounded at the end: in float32 their errors would add up to 3 units in the last
// place.
bool is_float32(Complex z) { return z.re.b->dtype_of(z.re.e) == float32; }
Complex convert(Complex z, DType dtype) { return {convert(z.re, dtype), convert(z.im, dtype)}; }
Complex in_float64(Complex (*f)(Complex), Complex z) {
  return convert(f(convert(z, float64)), float32);
}

// Returns the imaginary part of x * y.
Real imag_of_product(Complex x, Complex y) { return x.re * y.im + x.im * y.re; }

}  // namespace

Complex parts(ExprBuilder& b, Expr complex) {
  const DType part = real_dtype(b.dtype_of(complex));
  return {{&b, b.apply(ScalarOp::kReal, part, {complex})},
          {&b, b.apply(ScalarOp::kImag, part, {complex})}};
}

Expr join(Complex z) {
  ExprBuilder& b = *z.re.b;
  const DType dtype = b.dtype_of(z.re.e) == float64 ? complex128 : complex64;
  return b.apply(ScalarOp::kComplex, dtype, {z.re.e, z.im.e});
}

Real abs(Complex z) {
  const Real x = abs(z.re), y = abs(z.im);
  const Real big = max(x, y), small = min(x, y);
  const Real ratio = small / big;
  // The formula fails for 0/0 and inf/inf; then the result is the larger part. If one part is
  // infinite, so is the result, even if the other is NaN.
  const Real plain = big * sqrt(1.0 + ratio * ratio);
  const Real infinity = x.number(std::numeric_limits<double>::infinity());
  return select((x == infinity) | (y == infinity), infinity, select(big == 0.0, big, plain));
}

Complex div(Complex x, Complex y) {
  // Smith's algorithm: divide by the larger part first.
  const Bool re_larger = abs(y.re) >= abs(y.im);
  const Real large = select(re_larger, y.re, y.im), small = select(re_larger, y.im, y.re);
  const Real ratio = small / large, scale = large + small * ratio;
  const Complex by_re = {x.re + x.im * ratio, x.im - x.re * ratio};
  const Complex by_im = {x.re * ratio + x.im, x.im * ratio - x.re};
  const Complex top = select(re_larger, by_re, by_im);
  const Complex quotient = {top.re / scale, top.im / scale};
  // If y is zero, each part of x is divided by a signed zero. If y is infinite and x finite, the
  // result is zero; if x is infinite and y finite, it is infinite.
  const Bool by_zero = (y.re == 0.0) & (y.im == 0.0);
  const Real zero = copysign(y.re.number(0), y.re);
  const Complex over_zero = {x.re / zero, x.im / zero};
  const Bool by_infinity =
      (is_infinite(y.re) | is_infinite(y.im)) & is_finite(x.re) & is_finite(x.im);
  const Bool of_infinity =
      (is_infinite(x.re) | is_infinite(x.im)) & is_finite(y.re) & is_finite(y.im);
  const Complex to = x * conj({boxed(y.re), boxed(y.im)});
  const Complex from = Complex{boxed(x.re), boxed(x.im)} * conj(y);
  const Real infinity = infinity_like(y.re);
  const Complex nothing = {0.0 * to.re, 0.0 * to.im};
  const Complex all = {infinity * from.re, infinity * from.im};
  const Bool lost = !(is_number(quotient.re) | is_number(quotient.im));
  return select(by_zero, over_zero,
                select(lost & by_infinity, nothing, select(lost & of_infinity, all, quotient)));
}

Complex max(Complex x, Complex y) {
  const Bool first = (x.re > y.re) | ((x.re == y.re) & (x.im > y.im));
  return select(first, x, y);
}

Complex min(Complex x, Complex y) {
  const Bool first = (x.re < y.re) | ((x.re == y.re) & (x.im < y.im));
  return select(first, x, y);
}

Complex pow(Complex x, Complex y) {
  const Complex power = exp(y * log(x));
  // 0**0 is 1, and 0**y is 0 if the real part of y is positive.
  const Bool base_zero = (x.re == 0.0) & (x.im == 0.0);
  const Bool exponent_zero = (y.re == 0.0) & (y.im == 0.0);
  const Real zero = x.re.number(0);
  const Complex of_zero = select(exponent_zero, Complex{x.re.number(1), zero}, Complex{zero, zero});
  return select(base_zero & (exponent_zero | (y.re > 0.0)), of_zero, power);
}

Complex atan2(Complex y, Complex x) {
  // The result is -i log((x + iy) / sqrt(x^2 + y^2)).
  const Complex xx = x * x, yy = y * y, iy = times_i(y);
  const Complex norm = sqrt({xx.re + yy.re, xx.im + yy.im});
  return times_minus_i(log(div({x.re + iy.re, x.im + iy.im}, norm)));
}

Complex sign(Complex z) {
  const Real r = abs(z);
  const Bool zero = r == 0.0;
  return select(zero, z, {z.re / r, z.im / r});
}

Complex sqrt(Complex z) {
  // w = sqrt((|x| + |z|) / 2), with z scaled by powers of 4 if the sum would overflow or lose bits.
  const Real x = abs(z.re), y = abs(z.im);
  const Real largest = max(x, y);
  const Bool huge = largest > 1e18, tiny = largest < 1e-18;
  const Real down = x.number(0x1p-64), up = x.number(0x1p64), one = x.number(1);
  const Real scale = select(huge, down, select(tiny, up, one));
  const Real root = select(huge, x.number(0x1p32), select(tiny, x.number(0x1p-32), one));
  const Real xs = x * scale, ys = y * scale;
  const Real w = sqrt(0.5 * (xs + abs(Complex{xs, ys})));
  const Real v = 0.5 * (ys / w);
  const Bool right = z.re >= z.re.number(0);
  const Real re = select(right, w, v) * root, im = select(right, v, w) * root;
  const Real zero = x.number(0), infinity = infinity_like(x);
  const Complex plain = {re, copysign(im, z.im)};
  const Complex of_zero = {zero, z.im};
  // If the other part is NaN, a part is infinite only if it would be for every number in place of
  // the NaN.
  const Real small = select(is_number(y), zero, y);
  const Complex of_infinity = {
      select(right | (y == infinity), infinity, small),
      select(right & (y < infinity), copysign(zero, z.im),
             select(right & (x == infinity), select(is_number(y), copysign(infinity, z.im), small),
                    copysign(infinity, z.im)))};
  return select(largest == 0.0, of_zero,
                select((x == infinity) | (y == infinity), of_infinity, plain));
}

Complex rsqrt(Complex z) {
  if (is_float32(z)) return in_float64(rsqrt, z);
  return div({z.re.number(1), z.re.number(0)}, sqrt(z));
}

Complex cbrt(Complex z) {
  const Real r = cbrt(abs(z)), angle = atan2(z.im, z.re) * (1.0 / 3.0);
  return {r * cos(angle), r * sin(angle)};
}

namespace {

// Returns e^z. `small` means that the parts of z were float32: then exp(z.re) cannot overflow in
// float64 unless the result does in float32.
Complex exp_of_parts(Complex z, bool small) {
  const Real whole = exp(z.re);
  const Real c = cos(z.im), s = sin(z.im);
  Complex plain = {whole * c, whole * s};
  if (!small) {
    // e^x is computed as exp(x/2)^2, and multiplied such that it overflows only if the result does.
    const Real half = exp(0.5 * z.re);
    const Bool large = z.re > 80.0;
    plain = {select(large, half * c * half, plain.re), select(large, half * s * half, plain.im)};
  }
  // If e^x is zero or infinite and the angle is not finite, the result has no direction: it is
  // zero, or an infinity with a NaN.
  const Bool directed = is_finite(z.im);
  const Complex of_limits = {whole,
                             select(z.re < 0.0, copysign(z.re.number(0), z.im), nan_like(z.im))};
  return select(z.im == 0.0, {whole, z.im},
                select(is_infinite(z.re) & !directed, of_limits, plain));
}

struct Hyperbolic {
  Real sinh, cosh;
};
Hyperbolic hyperbolic(Real x) { return {sinh(x), cosh(x)}; }
// Returns both for a number that was float32, as exactly as float32 needs. They are computed from
// one exponential, except sinh of arguments so small that the difference would cancel.
Hyperbolic hyperbolic_of_float32(Real x) {
  const Real a = abs(x), up = exp(a), down = x.number(1) / up;
  const Real s = select(a < 0x1p-20, a, 0.5 * (up - down));
  return {copysign(s, x), 0.5 * (up + down)};
}

}  // namespace

Complex exp(Complex z) {
  if (is_float32(z)) return in_float64([](Complex w) { return exp_of_parts(w, true); }, z);
  return exp_of_parts(z, false);
}

Complex expm1(Complex z) {
  if (is_float32(z)) return in_float64(expm1, z);
  const Real s = sin(0.5 * z.im), e = expm1(z.re);
  return {select(is_infinite(z.re), exp(z).re - 1.0, e * cos(z.im) - 2.0 * (s * s)), exp(z).im};
}

Complex log(Complex z) {
  const Real x = abs(z.re), y = abs(z.im);
  const Real big = max(x, y), small = min(x, y);
  // If z is near the unit circle, log(big) and the other term would cancel; log1p(|z|^2 - 1) is
  // exact.
  const Real near = 0.5 * log1p(square_norm_minus_one(big - 1.0, small));
  const Real ratio = select(small == big, x.number(1), small / big);
  const Real far = log(big) + 0.5 * log1p(ratio * ratio);
  const Bool is_near = (big > 0.5) & (big < 2.0);
  const Real infinity = x.number(std::numeric_limits<double>::infinity());
  const Real norm = select((x == infinity) | (y == infinity), infinity,
                           select(big == 0.0, -infinity, select(is_near, near, far)));
  return {norm, atan2(z.im, z.re)};
}

Complex log1p(Complex z) {
  const Complex shifted = {1.0 + z.re, z.im};
  const Real near = 0.5 * log1p(square_norm_minus_one(z.re, z.im));
  const Real big = max(abs(shifted.re), abs(z.im));
  const Bool is_near = ((abs(z.re) < 0.5) & (abs(z.im) < 0.5)) | ((big > 0.5) & (big < 2.0));
  return {select(is_near, near, log(shifted).re), atan2(z.im, 1.0 + z.re)};
}

Complex logistic(Complex z) {
  if (is_float32(z)) return in_float64(logistic, z);
  // 1 / (1 + e^-z) on the right half plane, e^z / (1 + e^z) on the left one: neither overflows.
  const Real one = z.re.number(1), zero = z.re.number(0);
  const Bool left = z.re < 0.0;
  const Complex w = select(left, z, -z), e = exp(w);
  // Near the poles +-i pi, +-3i pi, ... the terms of 1 + e^x cos y would cancel. It is computed as
  // the sum of 1 + cos y = (sin y)^2 / (1 - cos y) and (e^x - 1) cos y.
  const Real c = cos(w.im), s = sin(w.im);
  const Real one_plus = select(c < 0.0, s * s / (1.0 - c) + expm1(w.re) * c, 1.0 + e.re);
  return div(select(left, e, {one, zero}), {one_plus, e.im});
}

// An imaginary part of 0 stays 0. If the imaginary part is not finite, results are NaN except for
// the parts that do not depend on it (C99, Annex G).
namespace {

Complex sinh_of(Complex z, Hyperbolic of_re) {
  const Complex plain = {of_re.sinh * cos(z.im), of_re.cosh * sin(z.im)};
  const Real nan = nan_like(z.re);
  const Complex undirected = {
      select(z.re == 0.0, z.re, select(is_infinite(z.re), infinity_like(z.re), nan)), nan};
  return select(z.im == 0.0, {of_re.sinh, z.im}, select(is_finite(z.im), plain, undirected));
}

Complex cosh_of(Complex z, Hyperbolic of_re) {
  const Complex plain = {of_re.cosh * cos(z.im), of_re.sinh * sin(z.im)};
  const Real zero = z.re.number(0), nan = nan_like(z.re);
  const Complex undirected = {select(is_infinite(z.re), infinity_like(z.re), nan),
                              select(z.re == 0.0, zero, nan)};
  return select(z.im == 0.0, {of_re.cosh, copysign(zero, z.re) * z.im},
                select(is_finite(z.im), plain, undirected));
}

}  // namespace

Complex sinh(Complex z) {
  if (is_float32(z))
    return in_float64([](Complex w) { return sinh_of(w, hyperbolic_of_float32(w.re)); }, z);
  return sinh_of(z, hyperbolic(z.re));
}

Complex cosh(Complex z) {
  if (is_float32(z))
    return in_float64([](Complex w) { return cosh_of(w, hyperbolic_of_float32(w.re)); }, z);
  return cosh_of(z, hyperbolic(z.re));
}

namespace {

// Kahan, "Branch cuts for complex elementary functions" (1987), with t = tan y and s = sinh x.
Complex tanh_by_tangent(Complex z, Real t) {
  const Bool large = abs(z.re) > 20.0;
  const Real one = z.re.number(1), x = select(large, one, z.re);
  const Real beta = 1.0 + t * t, s = sinh(x);
  const Real bottom = 1.0 + beta * (s * s);
  const Real rho = sqrt(1.0 + s * s);
  const Complex plain = {beta * rho * s / bottom, t / bottom};
  // If |x| > 20, the real part is +-1 and the imaginary part 4 sin y cos y exp(-2|x|).
  const Real small = 4.0 * (sin(z.im) * cos(z.im)) * exp(-2.0 * abs(z.re));
  const Real limit =
      select(is_infinite(z.re) & !is_finite(z.im), copysign(z.re.number(0), z.im), small);
  const Complex far = {
      select(is_infinite(z.re) | is_finite(z.im), copysign(one, z.re), nan_like(z.re)), limit};
  const Real re = select((z.re == 0.0) & !is_finite(z.im), z.re, plain.re);
  return select(large, far, {re, select(z.im == 0.0, z.im, plain.im)});
}

}  // namespace

Complex tanh(Complex z) {
  // tan() of float64 calls C's function for each number; for complex64 a quotient is enough.
  constexpr auto by_quotient = [](Complex w) { return tanh_by_tangent(w, sin(w.im) / cos(w.im)); };
  return is_float32(z) ? in_float64(by_quotient, z) : tanh_by_tangent(z, tan(z.im));
}

Complex sin(Complex z) { return times_minus_i(sinh(times_i(z))); }
Complex cos(Complex z) { return cosh(times_i(z)); }
Complex tan(Complex z) { return times_minus_i(tanh(times_i(z))); }

namespace {

Bool has_infinity(Complex z) { return is_infinite(z.re) | is_infinite(z.im); }
// Returns atan2(y, x) of numbers of which at least one is infinite; NaN if one is NaN.
Real angle_at_infinity(Real y, Real x) {
  return select(is_number(x) & is_number(y), atan2(boxed(y), boxed(x)), nan_like(x));
}
// Returns the real part of acos(z), which is `finite` if z is finite. For z = +-0 + i NaN it is pi
// / 2.
Real acos_angle(Complex z, Real finite) {
  const Real right_angle = z.re.number(std::numbers::pi / 2);
  return select(has_infinity(z), angle_at_infinity(abs(z.im), z.re),
                select((z.re == 0.0) & !is_number(z.im), right_angle, finite));
}

}  // namespace

// The inverse functions are Kahan's (ibid.), from square roots on either side of the cuts.
Complex asin(Complex z) {
  // For complex64, all but atan2 is computed in float64, as in in_float64.
  const DType dtype = z.re.b->dtype_of(z.re.e);
  const Complex w = is_float32(z) ? convert(z, float64) : z;
  const Complex minus = sqrt({1.0 - w.re, -w.im}), plus = sqrt({1.0 + w.re, w.im});
  const Complex wide = {minus.re * plus.re - minus.im * plus.im,
                        asinh(imag_of_product(conj(minus), plus))};
  const auto [bottom, im] = is_float32(z) ? convert(wide, dtype) : wide;
  const Complex plain = {atan2(z.re, bottom), im};
  const Complex far = {angle_at_infinity(z.re, abs(z.im)), copysign(infinity_like(z.re), z.im)};
  const Real re = select((z.re == 0.0) & !is_number(z.im), z.re, plain.re);
  return select(has_infinity(z), far, {re, plain.im});
}

Complex acos(Complex z) {
  const Complex minus = sqrt({1.0 - z.re, -z.im}), plus = sqrt({1.0 + z.re, z.im});
  const Real im = asinh(imag_of_product(conj(plus), minus));
  return {acos_angle(z, 2.0 * atan2(minus.re, plus.re)),
          select(has_infinity(z), -copysign(infinity_like(z.re), z.im), im)};
}

Complex acosh(Complex z) {
  const Complex minus = sqrt({z.re - 1.0, z.im}), plus = sqrt({z.re + 1.0, z.im});
  const Real product = minus.re * plus.re + minus.im * plus.im;  // real part of conj(minus) * plus
  const Real angle = 2.0 * atan2(minus.im, plus.re);
  const Bool finite = is_finite(z.re) & is_finite(z.im);
  return {select(has_infinity(z), infinity_like(z.re), asinh(product)),
          select(finite, angle, copysign(acos_angle(z, angle), z.im))};
}

Complex asinh(Complex z) { return times_minus_i(asin(times_i(z))); }
Complex atan(Complex z) { return times_minus_i(atanh(times_i(z))); }

Complex atanh(Complex z) {
  const Real x = abs(z.re), y = z.im;
  const Real left = 1.0 - x;
  const Real re = 0.25 * log1p(4.0 * x / (left * left + y * y));
  const Real im = 0.5 * atan2(2.0 * y, left * (1.0 + x) - y * y);
  const Real right_angle = copysign(x.number(std::numbers::pi / 2), y);
  const Complex far = {copysign(x.number(0), z.re), select(is_number(y), right_angle, y)};
  const Complex plain = {select((x == 0.0) & !is_number(y), z.re, copysign(re, z.re)), im};
  return select(has_infinity(z), far, plain);
}

}  // namespace tessera::ops::emit
