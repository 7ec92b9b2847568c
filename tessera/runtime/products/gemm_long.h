// Products of float32 matrices with few rows or columns and long sums, on CPUs with AVX-512, if the
// terms of a sum are adjacent in both operands: a matrix by its transpose (a covariance), or a few
// rows by the transpose of weights. A library copies both operands before it begins, which takes
// longer than to multiply them.
//
// The lanes of a vector have different terms of one sum, and are added up at the end. So the order
// of a sum depends on k only.
#pragma once

#include <cstdint>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes c = a b as gemm() does, and returns true. Returns false, and leaves c unchanged, if the
// terms are not adjacent, if a library is faster, or if the CPU does not have AVX-512. If b is the
// transpose of a, in the same memory, only half of the elements are computed.
bool gemm_long(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc);

}  // namespace tessera::runtime
