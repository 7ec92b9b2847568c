// A value in registers, and how each dtype is held there:
//   bool i1; integers iN; float16 and bfloat16 as f32 (perhaps with excess precision); complex as
//   two floats.
// Constants, copies to all lanes, rounding and conversions.
#pragma once

#include "tessera/base/dtype.h"
#include "tessera/codegen/vec.h"

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
// The same bits as another dtype of the same size.
Val bitcast_val(Ir& ir, DType from, DType to, Val value);

}  // namespace tessera::codegen
