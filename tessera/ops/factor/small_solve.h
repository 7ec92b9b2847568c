// Triangular equations of few unknowns in vectors. For matrices of a batch, the calls
// within BLAS take longer than the arithmetic.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// Row-major triangular matrices of m rows, one after the other, and as many right-hand sides of
// each: b is m x columns if `left`, columns x m otherwise. The equations are those of the op
// `triangular_solve`. `x` may be `b`.
template <class T>
struct SolveBatch {
  int64_t m, columns;
  bool left, lower, transposed, unit_diagonal;
  bool conjugated = false;  // the matrices are conjugated; for complex numbers only
  const T *a, *b;
  T* x;
};

// Returns whether small_solve solves equations of m unknowns, with right-hand sides of which an
// unknown takes `bytes`. Others are left to BLAS: there are many unknowns or right-hand sides, for
// which it is faster, or the CPU has no fused multiply-add.
bool is_small_solve(int64_t m, int64_t bytes);

// Solves the equations of `members` matrices. Products are subtracted with one rounding, in the
// order in which unknowns become known, and the sum is divided by the element of the diagonal: the
// bits depend neither on the numbers of members and right-hand sides nor on the vectors of the CPU.
// T is float, double or a complex number of these. Complex numbers are multiplied and divided by
// parts (complex_lanes.h).
template <class T>
void small_solve(const SolveBatch<T>& batch, int64_t members);

}  // namespace tessera::ops::factor
