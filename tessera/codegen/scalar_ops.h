// One scalar operation on values in registers (val.h): the code of the rows of ir/scalar_ops.def.
#pragma once

#include <span>

#include "tessera/codegen/val.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {

// Returns the result. `operand` is the dtype of the last operand (that of all except select's
// first). Scalars and vectors may be mixed.
Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> args);

// Returns a rough cost: 1 for an addition.
int op_weight(ScalarOp op, DType dtype);

}  // namespace tessera::codegen
