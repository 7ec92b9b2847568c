// Selection by a predicate, and clamping.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera::ops {

extern const OpDef& select_op;
extern const OpDef& clamp_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns on_true where pred holds, else on_false. pred: bool, a scalar or of the others' shape.
Array select(const Array& pred, const Array& on_true, const Array& on_false);
// Returns cases[which] element by element, all of one shape and dtype. which: bool (up to two
// cases) or int32, a scalar or of the cases' shape; below 0 selects the first, an index beyond the
// last selects the last. Throws UserError if there is no case, and for other dtypes and shapes.
Array select_n(const Array& which, const std::vector<Array>& cases);
// Returns min(max(x, low), high). The bounds have x's dtype, and are scalars or have x's shape. NaN
// stays.
Array clamp(const Array& low, const Array& x, const Array& high);

}  // namespace tessera::lax
