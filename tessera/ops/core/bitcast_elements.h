// bitcast_convert between widths: elements are split or combined.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// Returns StableHLO's bitcast_convert: bools have one bit, the first one lowest; a complex number
// is its parts, the real one lowest. lax::bitcast_convert_type, as JAX's, accepts neither.
Array bitcast_elements(const Array& x, DType dtype);

}  // namespace tessera::ops
