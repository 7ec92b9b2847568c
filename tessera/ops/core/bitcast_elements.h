// bitcast_convert between widths: elements are split and joined.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

// As StableHLO's bitcast_convert: bools are of one bit, the first the lowest; a complex number is
// its parts, the real one lowest. lax::bitcast_convert_type does neither, as JAX does not.
Array bitcast_elements(const Array& x, DType dtype);

}  // namespace tessera::ops
