// Sums of complex numbers that are given by their logarithms, for logaddexp and cumlogsumexp. (Sums
// of real numbers have no angles and are defined there.)
#pragma once

#include "tessera/ir/array.h"

namespace tessera::lax {

// Returns log_base(base**a + base**b) of two complex arrays of one type, with an imaginary part
// within pi / log(base) of 0. If one is -inf, the result is the other; for two other infinities it
// is NaN, as in JAX.
Array log_add_complex(const Array& a, const Array& b, double base);

}  // namespace tessera::lax
