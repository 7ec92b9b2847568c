// Hurwitz's zeta function and the derivatives of digamma, for programs that were read and for
// scipy.special.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::special {

// Returns the sum of (q + k)^-s over k >= 0, for float32 or float64 of one dtype and shape; half
// precision is computed in float32. It is inf for s = 1 and for q = 0, -1, ..., and NaN for s < 1
// and for q < 0 if s is not an integer.
Array zeta(const Array& s, const Array& q);

// Returns the derivative of order n of digamma at x, under the same conditions; NaN if n is not 0,
// 1, 2, .... Its derivative with respect to n counts as 0.
Array polygamma(const Array& n, const Array& x);

}  // namespace tessera::ops::special
