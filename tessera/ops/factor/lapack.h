// The routines of LAPACK that ops in this folder are computed by, for float, double and complex of
// both. Matrices are as LAPACK has them: column after column, without gaps. Each returns `info`: 0,
// or what went wrong; pivots count from 1. Callers prepare OpenBLAS (base/blas.h).
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

namespace tessera::ops::lapack {

template <class T>
struct RealOf {
  using type = T;
};
template <class T>
struct RealOf<std::complex<T>> {
  using type = T;
};
template <class T>
using Real = typename RealOf<T>::type;
template <class T>
inline constexpr bool is_complex = !std::is_same_v<T, Real<T>>;

// Which triangle, 'L' or 'U', holds the matrix; the factor takes its place.
template <class T>
int potrf(char triangle, int n, T* a);
// a = P L U in place, of m rows and n columns; min(m, n) pivots: rows i and pivots[i] - 1 change
// places.
template <class T>
int getrf(int m, int n, T* a, int* pivots);
// Householder reflectors below the diagonal and R on and above it; min(m, n) taus. With `pivots`
// (of n; on entry those not 0 are taken first) columns are pivoted.
template <class T>
int geqrf(int m, int n, T* a, T* taus);
template <class T>
int geqp3(int m, int n, T* a, int* pivots, T* taus);
// The first n columns of the product of k reflectors, in place of them.
template <class T>
int orgqr(int m, int n, int k, T* a, const T* taus);
// c, of m rows and n columns, times the product of k reflectors from the left or right; `adjoint`:
// times its adjoint. `a` is changed meanwhile, and put back.
template <class T>
int ormqr(bool left, bool adjoint, int m, int n, int k, T* a, const T* taus, T* c);
// b becomes op(a)^-1 b, or b op(a)^-1, for m by n b: BLAS, whose transposition is 'N', 'T' or 'C'.
template <class T>
void trsm(bool left, bool lower, char transposition, bool unit_diagonal, int m, int n, const T* a,
          T* b);
// Eigenvalues, ascending, and eigenvectors in place of a.
template <class T>
int syevd(char triangle, int n, T* a, Real<T>* w);
// Modes: 'A' all columns of U and rows of V^H, 'S' the first min(m, n), 'N' none. By divide and
// conquer, or by QR iterations.
template <class T>
int gesdd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
template <class T>
int gesvd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
// Eigenvalues, and where they are wanted left and right eigenvectors, complex ones. `a` is lost.
template <class T>
int geev(bool left, bool right, int n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* vl,
         std::complex<Real<T>>* vr);
// The Schur form in place of a, its vectors where they are wanted, and eigenvalues.
template <class T>
int gees(bool vectors, int n, T* a, std::complex<Real<T>>* w, T* vs);
// Upper Hessenberg form and reflectors; n - 1 taus.
template <class T>
int gehrd(int n, T* a, T* taus);
// Tridiagonal form and reflectors; n of d, n - 1 of e and taus.
template <class T>
int sytrd(char triangle, int n, T* a, Real<T>* d, Real<T>* e, T* taus);
// A product of m by k and k by n matrices: c = alpha op(a) op(b) + beta c, with leading dimensions.
template <class T>
void gemm(char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc);
// geqrf of a panel with m >= n by recursion: the triangular factor of its reflectors, n by n, in
// place of taus.
template <class T>
int geqrt3(int m, int n, T* a, int lda, T* t, int ldt);
// Bidiagonal form and reflectors, m >= n: n of d and of both taus, n - 1 of e.
template <class T>
int gebrd(int m, int n, T* a, Real<T>* d, Real<T>* e, T* left_taus, T* right_taus);
// All eigenvectors of a tridiagonal matrix, and its eigenvalues, ascending, in place of d.
template <class R>
int stedc(int n, R* d, R* e, R* z);
// All singular vectors of an upper bidiagonal matrix, u and v^T, and its singular values in place
// of d.
template <class R>
int bdsdc(int n, R* d, R* e, R* u, R* vt);
// Solves with `columns` right-hand sides; n - 1 of lower and upper. All are lost but b, which is
// the solution.
template <class T>
int gtsv(int n, int columns, T* lower, T* d, T* upper, T* b);

}  // namespace tessera::ops::lapack
