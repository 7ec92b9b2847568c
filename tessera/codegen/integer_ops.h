// Scalar operations on bool and integers, with XLA's definitions where C++ has none: x / 0 = -1, x
// rem 0 = x, arithmetic wraps, and shifts by the width or more result in 0 or the sign.
#pragma once

#include "tessera/base/dtype.h"
#include "tessera/codegen/vec.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {

// Emits an operation. `y` is the second operand, if the operation has one. Throws InternalError if
// `op` does not exist for the dtype.
Vec emit_bool_op(ScalarOp op, Vec x, Vec y);
Vec emit_int_op(ScalarOp op, DType dtype, Vec x, Vec y);
Vec int_extremum(bool is_max, DType dtype, Vec x, Vec y);

}  // namespace tessera::codegen
