// Matrix products on a CPU's matrix tiles (AMX).
#pragma once

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Returns whether the CPU has tiles for bfloat16 and the system lets this process use them.
bool cpu_has_tiles();
// Returns whether a value of the environment variable TESSERA_MATRIX_TILES allows tiles: "halves",
// "" and null (not set) do, "off" does not. Throws UserError kValue for any other text.
bool tiles_allowed(const char* text);
// Returns whether products of the dtype use tiles: those of float16 and bfloat16 do, if the CPU has
// tiles and the environment allows them. The first call throws as tiles_allowed() does.
bool wants_tiles(DType dtype);

// Computes gemm() of float16 or bfloat16 with sums in float32. Returns false and leaves c unchanged
// if there are no tiles or if the product is too small to gain. `otherwise` computes the parts in
// which an element of float16 is infinite or NaN.
//
// Errors are as large as those of float32 sums: each product has a relative error of at most 2^-24,
// like a rounded product, and long sums are added up in blocks.
using GemmFunction = void (*)(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a,
                              MatrixRef b, std::byte* c, int64_t ldc, bool accumulate);
bool gemm_tiles(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                float* c, int64_t ldc, bool accumulate, GemmFunction otherwise);

}  // namespace tessera::runtime
