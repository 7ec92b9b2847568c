// Values that change no sum.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// Returns an array y with x + y = x for every x, bit for bit: zeros, which are negative if the
// dtype has negative zeros.
Array neutral_to_sum(DType dtype, const Shape& shape);
// Returns whether there is such an array. One-byte floats may lack a negative zero.
bool has_neutral_to_sum(DType dtype);

}  // namespace tessera::ops
