// Products in which each element is the same function, bit for bit, of a row of a and a column of
// b, whatever their positions and however many others there are: DotSum::kInvariant.
//
// Libraries choose their kernels by the shape of a product, and sum the elements at its edges in
// another order than those inside. Here every product consists of calls of one library on whole
// blocks of rows and columns; the rest at the edges is copied into a block padded with zeros.
// The first product of a process checks that this library computes all elements of a block in the
// same order on this CPU. If it does not, plain loops compute all products.
#pragma once

#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

// The largest `slice` below. With 384 or more terms, the libraries' kernels divide k themselves.
inline constexpr int64_t kLongestSlice = 320;

// Computes the same as gemm(). Sums over k consist of sums of at most `slice` terms each, added in
// order, which limits their rounding errors.
void gemm_invariant(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                    std::byte* c, int64_t ldc, bool accumulate, int64_t slice = kLongestSlice);

// Computes c (n x n) = a (n x k) . its transpose, plus c's old content if `accumulate`, on the
// diagonal and above it, with the bits of gemm_invariant(). The elements below the diagonal are
// undefined afterwards. The types must be floating-point.
void gemm_invariant_symmetric(GemmTypes types, int64_t n, int64_t k, MatrixRef a, std::byte* c,
                              int64_t ldc, bool accumulate);

// Returns whether the library computes all elements of blocks of this dtype (float32, float64) in
// the same order; for tests.
bool blocks_are_alike(DType dtype);

}  // namespace tessera::runtime
