// Products of bfloat16 by the CPU's bfloat16 instructions, which are twice as fast as products of
// float32.
#pragma once

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes gemm() for bfloat16 with a float32 result. Returns false and does nothing if the CPU has
// no such instructions, or if the product is too small to gain from them.
bool gemm_bfloat16(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, float* c, int64_t ldc,
                   bool accumulate);

}  // namespace tessera::runtime
