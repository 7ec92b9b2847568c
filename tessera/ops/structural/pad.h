// pad: adds a value around (or between) the elements; negative amounts remove elements.
#pragma once

#include "tessera/ir/array.h"

namespace tessera::ops {

struct PadParams {
  Dims low, high, interior;
};
extern const OpDef& pad_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x with `low` and `high` copies of `value`, a scalar of x's dtype, before and after its
// elements in each dimension, and `interior` copies between neighbours.
Array pad(const Array& x, const Array& value, const Dims& low, const Dims& high,
          const Dims& interior = {});

}  // namespace tessera::lax
