// One scalar operation on values in registers (val.h): what the rows of ir/scalar_ops.def become.
#pragma once

#include <span>

#include "tessera/codegen/val.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {

// `operand` is the dtype of the last operand (that of all, but for select's first). Scalars and
// vectors mix.
Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> args);

// A rough cost: 1 for an addition.
int op_weight(ScalarOp op, DType dtype);

}  // namespace tessera::codegen
