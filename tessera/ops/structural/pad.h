// pad: a value around (or between) the elements; negative amounts cut.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct PadParams {
  Dims low, high, interior;
};
extern const OpDef& pad_op;

}  // namespace tessera::ops

namespace tessera::lax {

// `value`: a scalar of x's dtype. `interior` elements of it go between neighbours.
Array pad(const Array& x, const Array& value, const Dims& low, const Dims& high,
          const Dims& interior = {});

}  // namespace tessera::lax
