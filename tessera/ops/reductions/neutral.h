// Values that change no sum.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// Returns a value with x + it = x for every x, bit for bit: zeros, negative ones if the dtype has
// them.
Array neutral_to_sum(DType dtype, const Shape& shape);
// Returns whether there is such a value: one-byte floats may lack a negative zero.
bool has_neutral_to_sum(DType dtype);

}  // namespace tessera::ops
