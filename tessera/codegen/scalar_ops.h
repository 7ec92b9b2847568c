// One scalar operation on values in registers (val.h): the code of the rows of ir/scalar_ops.def.
#pragma once

#include <span>

#include "tessera/codegen/val.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {

// Returns the result. `operand` is the dtype of the last operand, which all operands have (except
// the first of select). Scalars and vectors may be mixed.
Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> args);

// Returns a rough cost of the operation; an addition costs 1.
int op_weight(ScalarOp op, DType dtype);

}  // namespace tessera::codegen
