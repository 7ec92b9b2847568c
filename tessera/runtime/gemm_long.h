// Products of few long rows of float32 with each other, on CPUs with AVX-512: a b, where the
// elements of a row of a are adjacent, and those of a column of b, as in covariances. A library
// copies b first, which takes as long as the product.
//
// Each element of the result is the sum of 16 partial sums: element p of a row is added to partial
// sum p mod 16 in order, with one rounding (fused multiply-add). So the bits of an element depend
// only on k.
#pragma once

#include <cstdint>

#include "tessera/runtime/gemm.h"

namespace tessera::runtime {

// Computes c = a b as gemm() does, and returns true. Returns false, and leaves c unchanged, if a
// library is faster or if the CPU does not have AVX-512. If b is the transpose of a, only half of
// the result is computed.
bool gemm_long(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc);

}  // namespace tessera::runtime
