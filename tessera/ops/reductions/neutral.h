// What changes no sum.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// x + it is x for every x, bit by bit: zeros, of negative sign where the dtype has one.
Array neutral_to_sum(DType dtype, const Shape& shape);
// Whether there is such a value: one-byte floats may lack a zero of negative sign.
bool has_neutral_to_sum(DType dtype);

}  // namespace tessera::ops
