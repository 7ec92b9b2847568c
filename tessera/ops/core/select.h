// Choice by a predicate, and clamping.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& select_op;
extern const OpDef& clamp_op;

}  // namespace tessera::ops

namespace tessera::lax {

// on_true where pred holds, else on_false. pred: bool, a scalar or of the others' shape.
Array select(const Array& pred, const Array& on_true, const Array& on_false);
// cases[which] element by element, all of one shape and dtype. which: bool (up to two cases) or
// int32, a scalar or of the cases' shape; below 0 it is the first, beyond the last the last.
// UserErrors for no case, and for others than these dtypes and shapes.
Array select_n(const Array& which, const std::vector<Array>& cases);
// min(max(x, low), high). The bounds: x's dtype, scalars or of x's shape. NaN stays.
Array clamp(const Array& low, const Array& x, const Array& high);

}  // namespace tessera::lax
