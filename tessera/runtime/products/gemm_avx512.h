// Products of float64 matrices by AVX-512, for which OpenBLAS's kernels use three quarters of the
// CPU's peak.
//
// Each element of the result is a sum of parts along k, and a part is the sum of its products in
// order, each added with one rounding (fused multiply-add). The parts depend only on k, so the bits
// of an element depend neither on its position nor on the other sizes of the product.
#pragma once

#include <cstdint>

#include "tessera/base/instructions.h"
#include "tessera/runtime/products/gemm.h"

// A function of the instructions for which cpu_has_avx512() asks.
#define TESSERA_AVX512 TESSERA_IN_512_BITS("avx512f,avx512dq,avx512vl,fma")

namespace tessera::runtime {

// Returns whether the CPU has the instructions of gemm_avx512() and of all functions that are
// TESSERA_AVX512.
bool cpu_has_avx512();

// Computes c = a b, plus c's old content if `accumulate`, as gemm() does, and returns true. Returns
// false and leaves c unchanged if the CPU has no AVX-512, or if a library is faster because an
// operand is a vector.
bool gemm_avx512(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, double* c,
                 int64_t ldc, bool accumulate);

}  // namespace tessera::runtime
