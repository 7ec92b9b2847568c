// exp(x^2) erfc(x) of promoted real arguments. Only source files of special/ include this header.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::special::internal {

// Returns exp(x^2) erfc(x), without a derivative of its own.
Array scaled_erfc(const Array& x);

// Returns its derivative. For x >= 0 it is not computed as the difference 2 x value - 2 / sqrt(pi),
// which cancels.
Array scaled_erfc_slope(const Array& x, const Array& value);

// Returns the function erfcx of real numbers.
Array real_erfcx(const Array& x);

}  // namespace tessera::scipy::special::internal
