// Choice by a predicate, and clamping.
#pragma once

#include "tessera/ir/array.h"

namespace tessera {

extern const OpDef& select_op;
extern const OpDef& clamp_op;

namespace lax {

// on_true where pred holds, else on_false. pred: bool, a scalar or of the others' shape.
Array select(const Array& pred, const Array& on_true, const Array& on_false);
// min(max(x, low), high). The bounds: x's dtype, scalars or of x's shape. NaN stays.
Array clamp(const Array& low, const Array& x, const Array& high);

}  // namespace lax
}  // namespace tessera
