// Reflectors of small real matrices, and their products, in vectors: one matrix of the batch in
// each lane. For matrices of a batch, the calls within LAPACK take longer than the arithmetic. The
// ops of reflectors.h and qr.h use it.
#pragma once

#include <cstdint>

namespace tessera::ops::factor {

// Row-major matrices, one after the other: `a` and `packed` have m rows and n columns, with min(m,
// n) taus, as of the op `geqrf`. `packed` may be `a`.
template <class T>
struct ReflectorBatch {
  int64_t m, n;
  const T* a;
  T *packed, *taus;
};
// `a` and `q` have m rows and n columns, with `count` taus, as of the op `householder_product`. `q`
// may be `a`.
template <class T>
struct ProductBatch {
  int64_t m, n, count;
  const T *a, *taus;
  T* q;
};
// `q` has m rows and k columns, `r` k rows and n columns, as of the op `qr`.
template <class T>
struct QrBatch {
  int64_t m, n, k;
  const T* a;
  T *q, *r;
};

// Returns whether the functions below compute matrices of m rows and n columns. Others are left to
// LAPACK: they are large, or the CPU has no fused multiply-add.
bool is_small_qr(int64_t m, int64_t n);

// Factor `members` matrices, or multiply the reflectors of so many, by LAPACK's definitions: the
// diagonal element of r has the sign that the matrix's does not have, and tau is 0 where the rest
// of a column is zero. A column is multiplied by a power of two before its norm is computed, so
// that squares neither overflow nor underflow. The bits depend neither on the number of members nor
// on the vectors of the CPU. T is float or double.
template <class T>
void small_geqrf(const ReflectorBatch<T>& batch, int64_t members);
template <class T>
void small_product(const ProductBatch<T>& batch, int64_t members);
template <class T>
void small_qr(const QrBatch<T>& batch, int64_t members);

}  // namespace tessera::ops::factor
