// Val: a value in registers. Each dtype is held there as follows:
//   bool as i1; integers as iN; float16 and bfloat16 as f32 (perhaps with excess precision);
//   complex numbers as two floats.
// This file also makes constants, copies to all lanes, rounds and converts.
#pragma once

#include "tessera/base/dtype.h"
#include "tessera/codegen/vec.h"

namespace tessera::codegen {

struct Val {
  llvm::Value* re = nullptr;
  llvm::Value* im = nullptr;  // only for complex numbers
  // For float16 and bfloat16: whether the value is representable in the dtype.
  bool rounded = true;
  explicit operator bool() const { return re != nullptr; }
};

// Returns the type in registers of an element, or of the real part of a complex one.
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
// Returns the value with these 16 bits (the inverse of half_bits).
Val from_half_bits(Ir& ir, DType dtype, llvm::Value* bits);

Val convert_val(Ir& ir, DType from, DType to, Val value);
// Returns the same bits as another dtype of the same size.
Val bitcast_val(Ir& ir, DType from, DType to, Val value);

}  // namespace tessera::codegen
