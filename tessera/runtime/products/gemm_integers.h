// Matrix products of integers by vector instructions. They wrap, so signed integers can be
// multiplied as unsigned ones, and the order of the sums does not matter.
#pragma once

#include <cstdint>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes c (+)= a b as gemm() does, for uint16_t, uint32_t and uint64_t.
template <class T>
void gemm_integers(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
                   bool accumulate);

}  // namespace tessera::runtime
