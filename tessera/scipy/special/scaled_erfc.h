// exp(x^2) erfc(x) of promoted real arguments, for source files of special/.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::scipy::special::internal {

// Returns exp(x^2) erfc(x), without a derivative of its own.
Array scaled_erfc(const Array& x);

// Returns its derivative, which for x >= 0 is not taken by the difference that defines it.
Array scaled_erfc_slope(const Array& x, const Array& value);

// Returns the function erfcx of real numbers.
Array real_erfcx(const Array& x);

}  // namespace tessera::scipy::special::internal
