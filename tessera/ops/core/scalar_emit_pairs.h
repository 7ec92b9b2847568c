// Functions of complex128 that are computed by pairs of floats (scalar_formulas.h). Their errors
// are below 2 units in the last place of the larger part of the result; formulas over rounded
// numbers would have errors of up to 4. For complex64 the same functions are computed in float64
// (scalar_emit.cc). Only the files of emitters include this header.
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

// The functions below give the results for infinities and NaN, for complex64 and complex128.

// Returns the angle atan2(y, x) of an infinite number; NaN if y or x is NaN.
Real angle_at_infinity(Real y, Real x);
// Returns the real part of acos(z). It is pi / 2 even for +-0 + i NaN. `finite` is the real part
// for finite z.
Real acos_angle(Complex z, Real finite);
// Returns exp(z) if the real part of z is infinite and its imaginary part is not finite; `whole` is
// exp of the real part.
Complex exp_at_infinity(Complex z, Real whole);
// Return sinh(z) and cosh(z) if the imaginary part of z is not finite. Parts that do not depend on
// it are numbers, the others are NaN (C99, Annex G).
Complex sinh_undirected(Complex z);
Complex cosh_undirected(Complex z);

}  // namespace tessera::ops::emit::formulas
