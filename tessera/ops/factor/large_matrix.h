// Factorisations of one large matrix by all threads: LAPACK's own steps, with the products of
// reflectors that most of the time goes into as tasks of the thread pool (block_reflectors.h)
// instead of OpenBLAS's threads, which meet at every product. What they compute is what geqrf and
// orgqr, syevd and gesdd compute, up to rounding: signs and phases are the same.
//
// Matrices are column after column. false: not for this matrix (small, or its elements are too
// small, too large or no numbers, so that LAPACK scales it), nothing is changed.
#pragma once

#include <cstdint>

#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {

// Whether a factorisation of m by n matrices takes the routines below.
bool is_large(int64_t m, int64_t n);

// a, of m rows and n columns, becomes r above its diagonal; q has `columns` orthonormal columns,
// min(m, n) or m. For large ones.
template <class T>
void large_qr(int64_t m, int64_t n, T* a, int64_t columns, T* q);

// As syevd of the lower triangle; z is what a is there, and a is lost.
template <class T>
bool large_eigh(int64_t n, T* a, lapack::Real<T>* w, T* z, int* info);

// As gesdd of m >= n with the first n columns of u; `v` of n by n is the conjugate of vt's
// transpose. a is lost.
template <class T>
bool large_svd(int64_t m, int64_t n, T* a, lapack::Real<T>* s, T* u, T* v, int* info);

}  // namespace tessera::ops::factor
