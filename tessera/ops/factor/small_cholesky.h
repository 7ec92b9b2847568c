// The Cholesky factor of a small matrix; larger real ones are computed in vectors. For matrices of
// a batch, the calls within LAPACK take longer than the arithmetic.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// The result of small_cholesky: whether the matrix was factorised, and if not, why not.
enum class SmallCholesky : uint8_t { kDone, kNotPositiveDefinite, kLeftToLapack };

// Computes the factor of the row-major n x n matrix `a`, of which it reads the lower or the upper
// triangle: `out` gets the lower factor l with a = l l^H, or the upper factor l^H, and zeros in the
// other triangle. If the matrix is not positive definite, `out` is not written. It is left to
// LAPACK if that is faster, or if the CPU has no fused multiply-add. The order of the operations
// depends only on n, so the bits do not depend on the vectors of the CPU. T is float, double or a
// complex number of these; complex matrices of more than 8 rows are left to LAPACK.
template <class T>
SmallCholesky small_cholesky(int64_t n, bool lower, const T* a, T* out);

}  // namespace tessera::ops::factor
