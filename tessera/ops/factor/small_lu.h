// The LU factors of small real matrices, in vectors. For matrices of a batch, the calls within
// LAPACK take longer than the arithmetic.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// Row-major matrices of m rows and n columns, one after the other, and their results; pivots,
// permutation and info as of the op `lu`. `lu` may be `a`.
template <class T>
struct LuBatch {
  int64_t m, n;
  const T* a;
  T* lu;
  int32_t *pivots, *permutation, *info;
};

// Returns whether small_lu factors matrices of m rows and n columns. Others are left to LAPACK:
// they are large, or the CPU has no fused multiply-add.
bool is_small_lu(int64_t m, int64_t n);

// Factors `members` matrices. Every row with a column's largest absolute value is considered in
// their order, so that the first one is the pivot; a NaN is a pivot only on the diagonal. A column
// whose pivot is zero changes nothing. An element is divided by the pivot, and products are
// subtracted with one rounding, in the order of the columns, whatever the number of members: the
// bits depend neither on it nor on the vectors of the CPU. T is float or double.
template <class T>
void small_lu(const LuBatch<T>& batch, int64_t members);

}  // namespace tessera::ops::factor
