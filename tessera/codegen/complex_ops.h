// Scalar operations on complex numbers, which are pairs of floats in registers. Most functions of
// complex numbers are replaced by formulas of real numbers before (ops/core/scalar_emit.h).
#pragma once

#include <span>

#include "tessera/codegen/val.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::codegen {

// Returns the result. Throws InternalError if `op` does not exist for complex operands.
Val emit_complex_op(Ir& ir, ScalarOp op, std::span<const Val> args);

}  // namespace tessera::codegen
