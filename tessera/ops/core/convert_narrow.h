// Code for conversions of elements of narrow dtypes (base/narrow.h), of the scalar language's
// integers: an element of a kernel is its bits.
#pragma once

#include "tessera/ir/scalar_op.h"

namespace tessera::ops {

// An element of a narrow dtype as one of wide_dtype().
Expr emit_widened(ExprBuilder& b, Expr narrow);
// A float32, float64, int8 or uint8 as the narrow dtype: numbers are rounded once, integers wrap.
Expr emit_narrowed(ExprBuilder& b, Expr wide, DType dtype);
// A floating-point number as a narrow integer: towards zero, within its range.
Expr emit_clamped(ExprBuilder& b, Expr number, DType dtype);

}  // namespace tessera::ops
