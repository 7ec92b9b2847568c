// Eigenvalues of small real symmetric matrices, in vectors: one matrix of the batch in each lane.
// For matrices of a batch, the calls within LAPACK take longer than the arithmetic. The op
// `eigh_values` (eigh.h) uses it.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// `a` contains row-major matrices of n x n, of which one triangle is read, `w` the n eigenvalues of
// each, ascending, and `info` LAPACK's info of each, as of the op `eigh_values`.
template <class T>
struct EigenvalueBatch {
  int64_t n;
  bool lower;
  const T* a;
  T* w;
  int32_t* info;
};

// Returns whether the function below computes matrices of n rows. Others are left to LAPACK: they
// are large, or the CPU has no fused multiply-add.
bool has_small_eigenvalues(int64_t n);

// Computes the eigenvalues of `members` matrices by Jacobi's rotations. Their errors are a few
// units of the last place of the largest one, as LAPACK's are. The bits depend neither on the
// number of members nor on the vectors of the CPU. T is float or double.
template <class T>
void small_eigenvalues(const EigenvalueBatch<T>& batch, int64_t members);

}  // namespace tessera::ops::factor
