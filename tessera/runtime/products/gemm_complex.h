// Products of small complex matrices by vector instructions. A library takes longer to begin such a
// product than the product itself takes.
//
// Each part of an element of the result is the difference or the sum of two sums of k products in
// order, each added with one rounding (fused multiply-add): those with the real parts of `a`, and
// those with its imaginary parts. So its bits depend neither on the sizes of the matrices nor on
// the width of the CPU's vectors.
#pragma once

#include <complex>
#include <cstdint>

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// Computes c = a b as gemm() does, for complex numbers of float and double, and returns true.
// Returns false, and leaves c unchanged, if a library is faster or if the CPU does not have AVX2.
template <class T>
bool gemm_complex(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
                  std::complex<T>* c, int64_t ldc);

}  // namespace tessera::runtime
