// Products of small matrices, and of matrices with few columns, by vector instructions. A library
// takes longer to begin such a product than the product itself takes.
//
// Each element of the result is the sum of its k products in order, each added with one rounding
// (fused multiply-add). So its bits depend neither on the sizes of the matrices nor on the width of
// the CPU's vectors.
#pragma once

#include <cstdint>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes c = a b as gemm() does, for float and double, and returns true. Returns false, and
// leaves c unchanged, if a library is faster or if the CPU does not have AVX2.
template <class T>
bool gemm_small(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, T* c,
                int64_t ldc);

// Returns whether gemm_small computes a product of these sizes for floats and for doubles, if the
// columns of b are adjacent. On CPUs without AVX2 it computes none.
bool is_small(int64_t m, int64_t n, int64_t k);

}  // namespace tessera::runtime
