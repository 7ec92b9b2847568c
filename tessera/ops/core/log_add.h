// Sums of complex numbers that are given by their logarithms. For logaddexp and cumlogsumexp; those
// of real numbers need no care for angles and stand there.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::lax {

// log_base(base**a + base**b) of two complex arrays of one type, its imaginary part within
// pi / log(base) of 0. Where one is -inf it is the other; NaN of two infinities else, as in JAX.
Array log_add_complex(const Array& a, const Array& b, double base);

}  // namespace tessera::lax
