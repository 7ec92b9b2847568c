// One matrix product on one thread, by the library or loop that is fastest. dot_code.cc divides
// dots into such products.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"

namespace tessera::runtime {

// A matrix in memory: element (i, j) is at data + (i * row_stride + j * col_stride) elements. One
// of the strides is 1, except for matrices of one row or column.
struct MatrixRef {
  const std::byte* data = nullptr;
  int64_t row_stride = 0, col_stride = 0;
  MatrixRef shifted(int64_t i, int64_t j, int64_t itemsize) const {
    return {data + (i * row_stride + j * col_stride) * itemsize, row_stride, col_stride};
  }
};

// Computes c (m x n, rows at distance ldc) = a (m x k) . b (k x n), plus c's old content if
// `accumulate`.
//
// The element types are `in` for a and b, and `out` for c. They are the same (except for float16
// and bfloat16), or `out` is a wider type of the same kind (float, integer, complex), to which the
// elements are converted first. Integers wrap, bool is (or, and). If a and b must be converted,
// they are read in tiles through the thread's scratch memory.
struct GemmTypes {
  DType in, out;
};
bool gemm_supports(GemmTypes types);
// Returns the type in which products of `in` with results `out` are summed: at least float32, and
// not narrower than either.
DType gemm_sum_dtype(DType in, DType out);
// Returns the type from which gemm() multiplies without a conversion first: `in`, if there is an
// instruction for it, otherwise `out`.
DType gemm_operand_dtype(GemmTypes types);
//
// The operands are references, because a copy of a MatrixRef would be read as a vector before its
// parts have reached the cache, and then wait for all elements of the last product to reach it.
void gemm(GemmTypes types, int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
          std::byte* c, int64_t ldc, bool accumulate);

// Returns whether gemm_symmetric() is faster than gemm(). It is for float64: nearly twice as fast
// for large results.
bool gemm_knows_symmetric(GemmTypes types);
// Computes c (n x n) = a (n x k) . its transpose, plus c's old content if `accumulate`, on the
// diagonal and above it. The elements below the diagonal are undefined afterwards.
void gemm_symmetric(GemmTypes types, int64_t n, int64_t k, MatrixRef a, std::byte* c, int64_t ldc,
                    bool accumulate);

}  // namespace tessera::runtime
