// Factorisations of one large matrix by all threads: LAPACK's own steps, except that products of
// reflectors, which take most of the time, are tasks of the thread pool (block_reflectors.h) and
// not products by OpenBLAS's threads, which synchronise at every one. The results equal those of
// geqrf and orgqr, syevd and gesdd up to rounding; signs and phases are the same.
//
// Matrices are column-major. large_eigh and large_svd return false, and change nothing, for a small
// matrix, and for one with a NaN or with elements so small or large that LAPACK would scale them.
#pragma once

#include <cstdint>

#include "tessera/ops/factor/lapack.h"

namespace tessera::ops::factor {

// Returns whether a factorisation of m by n matrices uses the routines below.
bool is_large(int64_t m, int64_t n);

// Replaces a, of m rows and n columns, by r on and above the diagonal, and writes `columns`
// orthonormal columns, min(m, n) or m, to q. The matrix must be large.
template <class T>
void large_qr(int64_t m, int64_t n, T* a, int64_t columns, T* q);

// Does the same as syevd of the lower triangle, except that it writes the eigenvectors to z; a is
// overwritten.
template <class T>
bool large_eigh(int64_t n, T* a, lapack::Real<T>* w, T* z, int* info);

// Does the same as gesdd for m >= n with the first n columns of u. `v`, n by n, is the adjoint of
// vt. a is overwritten.
template <class T>
bool large_svd(int64_t m, int64_t n, T* a, lapack::Real<T>* s, T* u, T* v, int* info);

}  // namespace tessera::ops::factor
