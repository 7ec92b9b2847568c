// Functions of complex128 by pairs of floats, with errors below 2 units in the last place of the
// larger part of the result: rounded parts, multiplied and added, would have up to 4. complex64 has
// the same functions in float64 (scalar_emit.cc). Only the files of emitters include this.
#pragma once

#include "tessera/ops/core/scalar_emit.h"

namespace tessera::ops::emit::formulas {

Complex exp_by_pairs(Complex z);
Complex expm1_by_pairs(Complex z);
Complex logistic_by_pairs(Complex z);
Complex sinh_by_pairs(Complex z);
Complex cosh_by_pairs(Complex z);
Complex tanh_by_pairs(Complex z);
Complex rsqrt_by_pairs(Complex z);
Complex asin_by_pairs(Complex z);
Complex acos_by_pairs(Complex z);
Complex acosh_by_pairs(Complex z);
Complex atanh_by_pairs(Complex z);

// Of numbers that are not finite, for both widths.
// Returns the angle of an infinite number, seen from the second part: NaN if one part is no number.
Real angle_at_infinity(Real y, Real x);
// Returns acos's angle, which is known even for +-0 + i NaN; `finite` is that of finite numbers.
Real acos_angle(Complex z, Real finite);
// Returns exp of a number whose real part is infinite and whose imaginary part is no number;
// `whole` is exp of the real part.
Complex exp_at_infinity(Complex z, Real whole);
// sinh, cosh and tanh of a number whose imaginary part is not finite: what does not depend on it
// stays (C99, Annex G).
Complex sinh_undirected(Complex z);
Complex cosh_undirected(Complex z);

}  // namespace tessera::ops::emit::formulas
