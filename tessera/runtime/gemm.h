// One matrix product on one thread, through whichever library or loop suits it. dot_code.cc cuts
// dots into these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"

namespace tessera::runtime {

// A matrix in memory: element (i, j) at data + (i * row_stride + j * col_stride) elements. One of
// the strides is 1, but for matrices of one row or column.
struct MatrixRef {
  const std::byte* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
  MatrixRef shifted(int64_t i, int64_t j, int64_t itemsize) const {
    return {data + (i * row_stride + j * col_stride) * itemsize, row_stride, col_stride};
  }
};

// c (m x n, rows ldc apart) = a (m x k) . b (k x n), plus c's old content if `accumulate`.
//
// Element types of a and b, and of c, `in` and `out`: the same (not float16 and bfloat16), or a
// wider one of the same kind (float, integer, complex) to which the elements are converted first.
// Integers wrap, bool is (or, and). Reads a and b in tiles through the thread's scratch memory
// where it has to convert them.
struct GemmTypes {
  DType in, out;
};
bool gemm_supports(GemmTypes types);
// In what type products of `in` that give `out` are summed: float32 at least, and no narrower than
// either.
DType gemm_sum_dtype(DType in, DType out);
void gemm(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, std::byte* c,
          int64_t ldc, bool accumulate);

// Whether gemm_symmetric() is faster than gemm(): float64, where it is nearly twice as fast.
bool gemm_knows_symmetric(GemmTypes types);
// c (n x n) = a (n x k) . its transpose, plus c's old content if `accumulate`, on the diagonal and
// above it. What lies below is left as it was.
void gemm_symmetric(GemmTypes types, int64_t n, int64_t k, MatrixRef a, std::byte* c, int64_t ldc,
                    bool accumulate);

}  // namespace tessera::runtime
