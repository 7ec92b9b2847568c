// Emits conversions of elements of narrow dtypes (base/narrow.h), as integer arithmetic: a kernel
// holds such an element as its bits.
#pragma once

#include "tessera/ir/scalar_op.h"

namespace tessera::ops {

// Returns an element of a narrow dtype as one of wide_dtype().
Expr emit_widened(ExprBuilder& b, Expr narrow);
// Returns a float32, float64, int8 or uint8 as the narrow dtype. Floats are rounded once, integers
// wrap.
Expr emit_narrowed(ExprBuilder& b, Expr wide, DType dtype);
// Returns a floating-point number as a narrow integer, truncated and clamped to its range.
Expr emit_clamped(ExprBuilder& b, Expr number, DType dtype);

}  // namespace tessera::ops
