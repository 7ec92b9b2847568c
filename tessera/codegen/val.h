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
  bool rounded = true;        // for float16 and bfloat16: representable in the dtype
  explicit operator bool() const { return re != nullptr; }
};

// Returns the type in registers of the element, or of its real part.
llvm::Type* register_type(llvm::LLVMContext& context, DType dtype);
// Returns the bytes of an element in a vector register; 0 for bool.
int64_t register_bytes(DType dtype);
Val constant_val(Ir& ir, DType dtype, const void* bytes);
// Returns a small integer as a constant of `dtype`.
Val number_val(Ir& ir, DType dtype, double value);
// Returns a scalar copied to `lanes` lanes, by default those of a whole vector; a vector is
// returned as it is.
Val broadcast_val(Ir& ir, Val value, int lanes);
Val broadcast_val(Ir& ir, Val value);

// Returns float16 and bfloat16 rounded to the nearest, ties to even; other dtypes as they are.
Val rounded_val(Ir& ir, DType dtype, Val value);
// Returns the 16 bits of a rounded float16 or bfloat16, as i16.
llvm::Value* half_bits(Ir& ir, DType dtype, Val value);
// The inverse.
Val from_half_bits(Ir& ir, DType dtype, llvm::Value* bits);

Val convert_val(Ir& ir, DType from, DType to, Val value);
// Returns the same bits as another dtype of the same size.
Val bitcast_val(Ir& ir, DType from, DType to, Val value);

}  // namespace tessera::codegen
