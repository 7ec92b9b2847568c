// Factorisations of one large matrix by all threads: LAPACK's own steps, where the products of
// reflectors, which take most of the time, are tasks of the thread pool (block_reflectors.h)
// instead of OpenBLAS's threads, which synchronise at every product. The results are those of geqrf
// and orgqr, syevd and gesdd, up to rounding: signs and phases are the same.
//
// Matrices are column-major. A routine returns false, and changes nothing, for a matrix that it
// does not support: a small one, or one with elements that are too small, too large or no numbers,
// so that LAPACK would scale it.
#pragma once

#include <cstdint>

#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {

// Returns whether a factorisation of m by n matrices uses the routines below.
bool is_large(int64_t m, int64_t n);

// Replaces a, of m rows and n columns, by r above its diagonal; q gets `columns` orthonormal
// columns, min(m, n) or m. For large matrices.
template <class T>
void large_qr(int64_t m, int64_t n, T* a, int64_t columns, T* q);

// The same as syevd of the lower triangle, but it writes to z what syevd writes to a; a is
// overwritten.
template <class T>
bool large_eigh(int64_t n, T* a, lapack::Real<T>* w, T* z, int* info);

// The same as gesdd of m >= n with the first n columns of u; `v`, n by n, is the conjugate of vt's
// transpose. a is overwritten.
template <class T>
bool large_svd(int64_t m, int64_t n, T* a, lapack::Real<T>* s, T* u, T* v, int* info);

}  // namespace tessera::ops::factor
