// Functions by which the emitters of scalar expressions (scalar_emit.h) write formulas: functions
// of real numbers, and arithmetic on pairs. A pair is the unevaluated sum of a number and its
// rounding error, so it has twice the digits of a float. Only the source files of emitters include
// this header.
#pragma once

#include <limits>

#include "tessera/ops/core/scalar_emit.h"

namespace tessera::ops::emit::formulas {

inline Real sqrt(Real x) { return x.apply(ScalarOp::kSqrt); }
inline Real cbrt(Real x) { return x.apply(ScalarOp::kCbrt); }
inline Real exp(Real x) { return x.apply(ScalarOp::kExp); }
inline Real expm1(Real x) { return x.apply(ScalarOp::kExpm1); }
inline Real log(Real x) { return x.apply(ScalarOp::kLog); }
inline Real log1p(Real x) { return x.apply(ScalarOp::kLog1p); }
inline Real sin(Real x) { return x.apply(ScalarOp::kSin); }
inline Real cos(Real x) { return x.apply(ScalarOp::kCos); }
inline Real atan(Real x) { return x.apply(ScalarOp::kAtan); }
inline Real tan(Real x) { return x.apply(ScalarOp::kTan); }
inline Real sinh(Real x) { return x.apply(ScalarOp::kSinh); }
inline Real cosh(Real x) { return x.apply(ScalarOp::kCosh); }
inline Real asinh(Real x) { return x.apply(ScalarOp::kAsinh); }
inline Real abs(Real x) { return x.apply(ScalarOp::kAbs); }
inline Real max(Real x, Real y) { return x.apply(ScalarOp::kMax, y); }
inline Real min(Real x, Real y) { return x.apply(ScalarOp::kMin, y); }
inline Real atan2(Real y, Real x) { return y.apply(ScalarOp::kAtan2, x); }
inline Bool is_finite(Real x) { return {x.b, x.b->apply(ScalarOp::kIsFinite, bool_, {x.e})}; }

// Returns `magnitude` with the sign of `x`. -0 counts as negative: 1/x distinguishes the zeros.
inline Real copysign(Real magnitude, Real x) {
  const Real m = abs(magnitude);
  return select((x < 0.0) | (1.0 / x < 0.0), -m, m);
}

// Returns the same, computed from the bits and without a division. The sign of a NaN counts, too.
inline Real with_sign_of(Real magnitude, Real x) {
  const DType dtype = x.b->dtype_of(x.e);
  const bool wide = dtype == float64;
  const DType bits = wide ? uint64 : uint32;
  const auto bits_of = [&](Real v) { return v.b->apply(ScalarOp::kBitcast, bits, {v.e}); };
  const auto masked = [&](Real v, int64_t mask) {
    return v.b->apply(ScalarOp::kAnd, bits, {bits_of(v), v.b->integer(bits, mask)});
  };
  const int64_t sign = wide ? std::numeric_limits<int64_t>::min() : int64_t{1} << 31;
  const int64_t others = wide ? std::numeric_limits<int64_t>::max() : (int64_t{1} << 31) - 1;
  const Expr both = x.b->apply(ScalarOp::kOr, bits, {masked(magnitude, others), masked(x, sign)});
  return {x.b, x.b->apply(ScalarOp::kBitcast, dtype, {both})};
}

inline Real infinity_like(Real x) { return x.number(std::numeric_limits<double>::infinity()); }
inline Bool is_infinite(Real x) { return abs(x) == infinity_like(x); }
inline Bool is_number(Real x) { return x == x; }
// Returns 1 for an infinity and 0 for other numbers, with the sign of x. C99's Annex G replaces
// infinite parts by these numbers.
inline Real boxed(Real x) { return copysign(select(is_infinite(x), x.number(1), x.number(0)), x); }
inline Real nan_like(Real x) { return x.number(std::numeric_limits<double>::quiet_NaN()); }

inline Bool has_infinity(Complex z) { return is_infinite(z.re) | is_infinite(z.im); }
inline Real fma(Real x, Real y, Real z) {
  return {x.b, x.b->apply(ScalarOp::kFma, x.b->dtype_of(x.e), {x.e, y.e, z.e})};
}

// A number as the sum of two floats: about its rounded value, and the rest (Dekker, "A
// floating-point technique for extending the available precision", 1971).
struct Pair {
  Real high, low;
};
inline Pair pair(Real x) { return {x, x.number(0)}; }
inline Pair operator-(Pair x) { return {-x.high, -x.low}; }
inline Pair select(Bool p, Pair x, Pair y) {
  return {emit::select(p, x.high, y.high), emit::select(p, x.low, y.low)};
}
// Returns x * power exactly; `power` is a power of 2.
inline Pair scaled(Pair x, Real power) { return {x.high * power, x.low * power}; }
inline Pair scaled(Pair x, double power) { return scaled(x, x.high.number(power)); }
// Returns the number rounded to a float. If `high` is zero, infinite or NaN, returns `high`.
inline Real value(Pair x) {
  return emit::select((abs(x.high) > 0.0) & is_finite(x.high), x.high + x.low, x.high);
}

// Returns x * y, rounded. It is an fma, so that code generation does not combine it with a later
// sum: then it would not be rounded. A zero has the sign of the product.
inline Real product(Real x, Real y) { return fma(x, y, x.number(-0.0)); }
// Returns x + y exactly (Knuth, TAOCP vol. 2, 4.2.2).
inline Pair sum(Real x, Real y) {
  const Real s = x + y, second = s - x;
  return {s, (x - (s - second)) + (y - second)};
}
inline Pair operator+(Pair x, Pair y) {
  const Pair s = sum(x.high, y.high);
  return {s.high, s.low + (x.low + y.low)};
}
inline Pair operator+(double c, Pair x) {
  const Pair s = sum(x.high.number(c), x.high);
  return {s.high, s.low + x.low};
}
inline Pair operator-(Pair x, Pair y) { return x + -y; }
inline Pair operator*(Pair x, Pair y) {
  const Real high = product(x.high, y.high);
  return {high, fma(x.high, y.high, -high) + fma(x.high, y.low, x.low * y.high)};
}
inline Pair square(Pair x) { return x * x; }
inline Pair operator/(Pair x, Pair y) {
  const Real q = x.high / y.high;
  const Real rest = fma(-q, y.high, x.high) + fma(-q, y.low, x.low);
  return {q, rest * (1.0 / y.high)};
}
// Returns the square root of a number that is 0 or at least 2^-1000.
inline Pair root(Pair x) {
  const Real s = sqrt(x.high);
  const Real rest = fma(-s, s, x.high) + x.low;
  return {s, rest / max(s + s, s.number(0x1p-500))};
}

}  // namespace tessera::ops::emit::formulas
