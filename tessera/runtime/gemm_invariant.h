// Products of which each element is the same function, bit for bit, of its row of a and its column of
// b, wherever these stand and however many others there are: DotSum::kInvariant.
//
// Libraries choose their kernels by the shape of a product, and add up the rows and columns at its
// edges in another order than those inside. Here every product is made of calls of one library on
// whole blocks of rows and columns; what is left at the edges is copied into a block filled up with
// zeros. The first product of a process checks that this library's blocks are all computed alike
// on this CPU; if they are not, plain loops compute all products.
#pragma once

#include "tessera/runtime/gemm.h"

namespace tessera::runtime {

// As gemm().
void gemm_invariant(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                    std::byte* c, int64_t ldc, bool accumulate);

// Whether blocks of this dtype (float32, float64) are computed alike by the library; for tests.
bool blocks_are_alike(DType dtype);

}  // namespace tessera::runtime
