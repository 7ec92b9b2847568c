// BlockReflectors: the product Q = H(0) H(1) ... of many Householder reflectors, kept as blocks I -
// V T V^H of kBlock reflectors each (Schreiber, Van Loan, "A storage-efficient WY representation",
// 1989), so that Q is applied by products of matrices. The matrix that Q multiplies is divided by
// columns into tasks of the thread pool, each of which calls BLAS with one thread; the division
// into tasks does not depend on the number of threads.
//
// Matrices are column-major, as in LAPACK.
#pragma once

#include <cstdint>

#include "tessera/base/workspace.h"
#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {

template <class T>
class BlockReflectors {
 public:
  static constexpr int64_t kBlock = 64;

  // Allocates `count` reflectors with vectors of `rows` elements. Vector i is 0 before element i,
  // and 1 at it.
  BlockReflectors(int64_t rows, int64_t count);

  // Sets all reflectors H(i) = I - taus[i] v v^H, whose vectors are below the diagonal of `a`.
  void take(const T* a, int64_t lda, const T* taus);
  // Sets the block of reflectors from `first` on, a multiple of kBlock. The vectors are below the
  // diagonal of `panel`, whose first row is row `first`; `triangle` is the block's T.
  void take_block(int64_t first, const T* panel, int64_t lda, const T* triangle, int64_t ldt);

  // Replaces c, which has `columns` columns, by Q c. If `of_identity`, c holds the first columns of
  // the identity.
  void apply(T* c, int64_t ldc, int64_t columns, bool of_identity = false) const;
  // Replaces c, whose first row is row `first`, by the adjoint of the block from `first` on times
  // c.
  void apply_adjoint_of_block(int64_t first, T* c, int64_t ldc, int64_t columns) const;

 private:
  int64_t size_of(int64_t first) const;
  void apply_block(int64_t first, bool adjoint, T* c, int64_t ldc, int64_t columns) const;
  void copy_vectors(int64_t first, const T* panel, int64_t lda);

  int64_t rows_, count_;
  Workspace<T> v_;  // rows_ by count_
  Workspace<T> t_;  // kBlock by count_: upper triangles side by side
};

}  // namespace tessera::ops::factor
