// bitcast_convert between widths: elements are split or combined.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// Returns StableHLO's bitcast_convert of x. A bool has one bit, and the first of several bools is
// the lowest bit; a complex number is two floats, the real part lowest. lax::bitcast_convert_type,
// like JAX's, takes no bools and no complex numbers.
Array bitcast_elements(const Array& x, DType dtype);

}  // namespace tessera::ops
