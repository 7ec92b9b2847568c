// Matrix products on a CPU's matrix tiles (AMX).
#pragma once

#include "tessera/runtime/gemm.h"

namespace tessera::runtime {

// Whether the CPU has tiles for bfloat16 and the system lets this process use them.
bool cpu_has_tiles();
// Which products go to tiles. Float32 ones do only where the user says so: on a core to itself they
// are 1.5 times as fast as a library's, on one that shares its tiles with a busy neighbour slower.
enum class TileChoice { kOff, kHalves, kAll };
// "off", "halves" (float16 and bfloat16; also null and "") or "all" (float32 too); else UserError
// kValue.
TileChoice tile_choice(const char* text);
bool takes(TileChoice choice, DType dtype);
// As the environment's TESSERA_MATRIX_TILES has it, where there are tiles. The first call throws as
// tile_choice().
bool wants_tiles(DType dtype);

// As gemm(), in float32, float16 or bfloat16 with sums in float32; false, and c is as it was, where
// there are no tiles or the product is too small to gain by them. Parts whose elements tiles cannot
// represent (infinities, NaN, more than 157 powers of two between elements) go to `otherwise`.
//
// Errors are of the size of those of float32 sums: each product is within 2^-24 of itself of the
// exact one, as a rounded one is, and long sums are added up in blocks.
using GemmFunction = void (*)(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a,
                              MatrixRef b, std::byte* c, int64_t ldc, bool accumulate);
bool gemm_tiles(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                float* c, int64_t ldc, bool accumulate, GemmFunction otherwise);

}  // namespace tessera::runtime
