// One scalar operation on values in registers. How each dtype is held there:
//   bool               i1
//   integers           iN
//   float16, bfloat16  f32 (perhaps with excess precision)
//   float32, float64   themselves
//   complex            two floats
#pragma once

#include <span>

#include "tessera/base/dtype.h"
#include "tessera/codegen/vec.h"
#include "tessera/ir/scalar_expr.h"

namespace tessera::codegen {

struct Val {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;  // complex only
  bool rounded = true;        // float16 and bfloat16: representable in the dtype
  explicit operator bool() const { return re != nullptr; }
};

// Of the (real part's) element in registers.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
// Bytes an element takes in a vector register; bool counts as none.
int64_t register_bytes(DType dtype);
Val constant_val(Ir& ir, DType dtype, const void* bytes);
// A small integer as a constant of `dtype`.
Val number_val(Ir& ir, DType dtype, double value);
// A scalar in every one of `lanes` lanes, those of a whole vector unless told; a vector as it is.
Val broadcast_val(Ir& ir, Val value, int lanes);
Val broadcast_val(Ir& ir, Val value);

// float16 and bfloat16 rounded to nearest even; others as they are.
Val rounded_val(Ir& ir, DType dtype, Val value);
// The 16 bits of a rounded float16 or bfloat16, as i16.
llvm::Value* half_bits(Ir& ir, DType dtype, Val value);
// The reverse.
Val from_half_bits(Ir& ir, DType dtype, llvm::Value* bits);

Val convert_val(Ir& ir, DType from, DType to, Val value);
// `operand` is the dtype of the last operand (that of all, but for select's first). Scalars and
// vectors mix.
Val emit_scalar_op(Ir& ir, ScalarOp op, DType result, DType operand, std::span<const Val> args);
// min or max as base/extremum.h defines them for floats.
Vec min_max(bool is_max, DType dtype, Vec a, Vec b);

// A rough cost: 1 for an addition.
int op_weight(ScalarOp op, DType dtype);

}  // namespace tessera::codegen
