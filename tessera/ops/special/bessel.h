// The exponentially scaled modified Bessel functions of orders 0 and 1, for programs that were read
// and for scipy.special.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::special {

// Returns exp(-|x|) I0(x). x is of a floating-point dtype; half precision computes in float32.
Array bessel_i0e(const Array& x);
// Returns exp(-|x|) I1(x), likewise.
Array bessel_i1e(const Array& x);

}  // namespace tessera::ops::special
