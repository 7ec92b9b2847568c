// The exponentially scaled modified Bessel functions of orders 0 and 1, for programs that were read
// and for scipy.special.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops::special {

// Returns exp(-|x|) I0(x). x has a floating-point dtype; half precision is computed in float32.
Array bessel_i0e(const Array& x);
// Returns exp(-|x|) I1(x), under the same conditions.
Array bessel_i1e(const Array& x);

}  // namespace tessera::ops::special
