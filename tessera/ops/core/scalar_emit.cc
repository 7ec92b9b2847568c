#include "tessera/ops/core/scalar_emit.h"

#include <limits>
#include <numbers>

#include "tessera/ops/core/scalar_emit_pairs.h"
#include "tessera/ops/core/scalar_formulas.h"

namespace tessera::ops::emit {

using namespace formulas;

namespace {

Complex operator-(Complex z) { return {-z.re, -z.im}; }
Complex operator*(Complex x, Complex y) {
  return {x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re};
}
Complex conj(Complex z) { return {z.re, -z.im}; }
// i * z and -i * z.
Complex times_i(Complex z) { return {-z.im, z.re}; }
Complex times_minus_i(Complex z) { return {z.im, -z.re}; }
// x + y^2 with what rounding lost of the square and (Knuth, TAOCP vol. 2, 4.2.2) of the sum.
struct Sum {
  Real value, error;
};
Sum plus_square(Real x, Real y) {
  const Real square = fma(y, y, y.number(0));
  const Real value = x + square, second = value - x;
  return {value, ((x - (value - second)) + (square - second)) + fma(y, y, -square)};
}
// Returns 2 x + x^2 + y^2, which is |1 + x + iy|^2 - 1. Most of its digits are right even near the
// unit circle around -1, where the terms cancel. Products are written as fma, because otherwise
// code generation would turn a product and a sum into one.
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

// The imaginary part of x * y.
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
  // 0/0 and inf/inf are the exceptions: there the larger part is the result. A NaN together with an
  // infinity is an infinity.
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
  // A division by zero divides each part of the dividend by a signed zero; a finite number divided
  // by infinity is zero.
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
  // 0**0 is 1; 0**y is 0 where the real part of y is positive.
  const Bool base_zero = (x.re == 0.0) & (x.im == 0.0);
  const Bool exponent_zero = (y.re == 0.0) & (y.im == 0.0);
  const Real zero = x.re.number(0);
  const Complex of_zero = select(exponent_zero, Complex{x.re.number(1), zero}, Complex{zero, zero});
  return select(base_zero & (exponent_zero | (y.re > 0.0)), of_zero, power);
}

Complex atan2(Complex y, Complex x) {
  // -i log((x + iy) / sqrt(x^2 + y^2)).
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
  // w = sqrt((|x| + |z|) / 2), scaled by powers of 4 where the sum would overflow or lose bits.
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
  // With a NaN, the part is infinite that is infinite for every number.
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
  if (!is_float32(z)) return rsqrt_by_pairs(z);
  return in_float64([](Complex w) { return div({w.re.number(1), w.re.number(0)}, sqrt(w)); }, z);
}

Complex cbrt(Complex z) {
  const Real r = cbrt(abs(z)), angle = atan2(z.im, z.re) * (1.0 / 3.0);
  return {r * cos(angle), r * sin(angle)};
}

namespace {

// These functions take complex128 numbers that were converted from complex64. Their results are
// accurate enough to be rounded to complex64.

Complex exp_of_float32(Complex z) {
  const Real whole = exp(z.re);
  const Complex plain = {whole * cos(z.im), whole * sin(z.im)};
  return select(z.im == 0.0, {whole, z.im},
                select(is_infinite(z.re) & !is_finite(z.im), exp_at_infinity(z, whole), plain));
}

Complex expm1_of_float32(Complex z) {
  const Real s = sin(0.5 * z.im);
  const Complex e = exp_of_float32(z);
  return {select(is_infinite(z.re), e.re - 1.0, expm1(z.re) * cos(z.im) - 2.0 * (s * s)), e.im};
}

struct Hyperbolic {
  Real sinh, cosh;
};
// Computes both from one exponential, except for small x, where the difference would cancel.
Hyperbolic hyperbolic_of_float32(Real x) {
  const Real a = abs(x), up = exp(a), down = x.number(1) / up;
  const Real s = select(a < 0x1p-20, a, 0.5 * (up - down));
  return {copysign(s, x), 0.5 * (up + down)};
}

}  // namespace

Complex exp(Complex z) { return is_float32(z) ? in_float64(exp_of_float32, z) : exp_by_pairs(z); }

Complex expm1(Complex z) {
  return is_float32(z) ? in_float64(expm1_of_float32, z) : expm1_by_pairs(z);
}

Complex log(Complex z) {
  const Real x = abs(z.re), y = abs(z.im);
  const Real big = max(x, y), small = min(x, y);
  // Near the unit circle the norm is 1 and what log(b) would cancel.
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

namespace {

Complex logistic_of_float32(Complex z) {
  // 1 / (1 + e^-z) on the right, e^z / (1 + e^z) on the left: neither overflows.
  const Real one = z.re.number(1), zero = z.re.number(0);
  const Bool left = z.re < 0.0;
  const Complex w = select(left, z, -z), e = exp_of_float32(w);
  // Near the poles +-i pi, +-3i pi, ... 1 + e^x cos y would cancel. It is the sum of two positive
  // terms: 1 + cos y = (sin y)^2 / (1 - cos y), and (e^x - 1) cos y.
  const Real c = cos(w.im), s = sin(w.im);
  const Real one_plus = select(c < 0.0, s * s / (1.0 - c) + expm1(w.re) * c, 1.0 + e.re);
  return div(select(left, e, {one, zero}), {one_plus, e.im});
}

// An imaginary part of 0 stays 0.
Complex sinh_of_float32(Complex z) {
  const Hyperbolic of_re = hyperbolic_of_float32(z.re);
  const Complex plain = {of_re.sinh * cos(z.im), of_re.cosh * sin(z.im)};
  return select(z.im == 0.0, {of_re.sinh, z.im},
                select(is_finite(z.im), plain, sinh_undirected(z)));
}

Complex cosh_of_float32(Complex z) {
  const Hyperbolic of_re = hyperbolic_of_float32(z.re);
  const Complex plain = {of_re.cosh * cos(z.im), of_re.sinh * sin(z.im)};
  return select(z.im == 0.0, {of_re.cosh, copysign(z.re.number(0), z.re) * z.im},
                select(is_finite(z.im), plain, cosh_undirected(z)));
}

// Kahan, "Branch cuts for complex elementary functions" (1987): t = tan y, s = sinh x.
Complex tanh_of_float32(Complex z) {
  const Real t = sin(z.im) / cos(z.im);
  const Bool large = abs(z.re) > 20.0;
  const Real one = z.re.number(1), x = select(large, one, z.re);
  const Real beta = 1.0 + t * t, s = sinh(x);
  const Real bottom = 1.0 + beta * (s * s);
  const Real rho = sqrt(1.0 + s * s);
  const Complex plain = {beta * rho * s / bottom, t / bottom};
  // Beyond 20 the real part is 1 and the imaginary 4 sin y cos y exp(-2|x|).
  const Real small = 4.0 * (sin(z.im) * cos(z.im)) * exp(-2.0 * abs(z.re));
  const Real limit =
      select(is_infinite(z.re) & !is_finite(z.im), copysign(z.re.number(0), z.im), small);
  const Complex far = {
      select(is_infinite(z.re) | is_finite(z.im), copysign(one, z.re), nan_like(z.re)), limit};
  const Real re = select((z.re == 0.0) & !is_finite(z.im), z.re, plain.re);
  return select(large, far, {re, select(z.im == 0.0, z.im, plain.im)});
}

}  // namespace

Complex logistic(Complex z) {
  return is_float32(z) ? in_float64(logistic_of_float32, z) : logistic_by_pairs(z);
}
Complex sinh(Complex z) {
  return is_float32(z) ? in_float64(sinh_of_float32, z) : sinh_by_pairs(z);
}
Complex cosh(Complex z) {
  return is_float32(z) ? in_float64(cosh_of_float32, z) : cosh_by_pairs(z);
}
Complex tanh(Complex z) {
  return is_float32(z) ? in_float64(tanh_of_float32, z) : tanh_by_pairs(z);
}

Complex sin(Complex z) { return times_minus_i(sinh(times_i(z))); }
Complex cos(Complex z) { return cosh(times_i(z)); }
Complex tan(Complex z) { return times_minus_i(tanh(times_i(z))); }

namespace {

// Returns asinh(x) of a float64 with the accuracy of float32, for |x| up to the square of the
// largest float32.
Real asinh_for_float32(Real x) {
  const Real a = abs(x);
  // For smaller |x|, the logarithm would lose too many bits.
  const Real small = a - a * a * a * (1.0 / 6), y = log(a + sqrt(fma(a, a, a.number(1))));
  return copysign(select(a < 0x1p-12, small, y), x);
}

// The inverse functions use Kahan's formulas (ibid.) with the square roots of 1 - z and 1 + z. For
// complex64, everything is computed in float64 except the angle, which is the float32 arctangent of
// its rounded tangent.
struct InverseParts {
  // In float32: the tangent of the real part of the result, and the imaginary part.
  Real tangent, sinh;
};
Real narrowed(Real x) { return convert(x, float32); }
InverseParts asin_parts(Complex z) {
  const Complex w = convert(z, float64);
  const Complex minus = sqrt({1.0 - w.re, -w.im}), plus = sqrt({1.0 + w.re, w.im});
  return {narrowed(w.re / abs(minus.re * plus.re - minus.im * plus.im)),
          narrowed(asinh_for_float32(imag_of_product(conj(minus), plus)))};
}
// Here `tangent` is the tangent of half the angle.
InverseParts acos_parts(Complex z) {
  const Complex w = convert(z, float64);
  const Complex minus = sqrt({1.0 - w.re, -w.im}), plus = sqrt({1.0 + w.re, w.im});
  return {narrowed(minus.re / plus.re),
          narrowed(asinh_for_float32(imag_of_product(conj(plus), minus)))};
}

Complex asin_of_float32(Complex z) {
  const InverseParts parts = asin_parts(z);
  const Complex far = {angle_at_infinity(z.re, abs(z.im)), copysign(infinity_like(z.re), z.im)};
  const Real re = select((z.re == 0.0) & !is_number(z.im), z.re, atan(parts.tangent));
  return select(has_infinity(z), far, {re, parts.sinh});
}

Complex acos_of_float32(Complex z) {
  const InverseParts parts = acos_parts(z);
  return {acos_angle(z, 2.0 * atan(parts.tangent)),
          select(has_infinity(z), -copysign(infinity_like(z.re), z.im), parts.sinh)};
}

Complex acosh_of_float32(Complex z) {
  const InverseParts parts = acos_parts(z);
  return {select(has_infinity(z), infinity_like(z.re), abs(parts.sinh)),
          copysign(acos_angle(z, 2.0 * atan(parts.tangent)), z.im)};
}

Complex atanh_of_float32(Complex z) {
  const Real x = abs(z.re), y = z.im, zero = x.number(0);
  const Real left = 1.0 - x;
  const Real re = 0.25 * log1p(4.0 * x / (left * left + y * y));
  // The angle is an arctangent or, if `across` is negative, pi minus the arctangent.
  const Real across = left * (1.0 + x) - y * y;
  const Real acute = atan(2.0 * abs(y) / abs(across));
  const Real angle = select(across < 0.0, std::numbers::pi - acute, acute);
  const Real im = copysign(0.5 * select((y == 0.0) & (across == 0.0), zero, angle), y);
  const Real right_angle = copysign(x.number(std::numbers::pi / 2), y);
  const Complex far = {copysign(zero, z.re), select(is_number(y), right_angle, y)};
  const Complex plain = {select((x == 0.0) & !is_number(y), z.re, copysign(re, z.re)), im};
  return select(has_infinity(z), far, plain);
}

}  // namespace

Complex asin(Complex z) { return is_float32(z) ? asin_of_float32(z) : asin_by_pairs(z); }
Complex acos(Complex z) { return is_float32(z) ? acos_of_float32(z) : acos_by_pairs(z); }
Complex acosh(Complex z) { return is_float32(z) ? acosh_of_float32(z) : acosh_by_pairs(z); }
Complex atanh(Complex z) {
  return is_float32(z) ? in_float64(atanh_of_float32, z) : atanh_by_pairs(z);
}
Complex asinh(Complex z) { return times_minus_i(asin(times_i(z))); }
Complex atan(Complex z) { return times_minus_i(atanh(times_i(z))); }

}  // namespace tessera::ops::emit
