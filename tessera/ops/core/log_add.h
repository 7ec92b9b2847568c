// Sums of complex numbers that are given by their logarithms, for logaddexp and cumlogsumexp.
// (These compute sums of real numbers without this header, because real numbers have no angles.)
#pragma once

#include "tessera/ir/array.h"

namespace tessera::lax {

// Returns log_base(base**a + base**b) of two complex arrays of one type. The imaginary part of the
// result is within pi / log(base) of 0. If one is -inf, the result is the other; if both are
// infinite otherwise, it is NaN, as in JAX.
Array log_add_complex(const Array& a, const Array& b, double base);

}  // namespace tessera::lax
