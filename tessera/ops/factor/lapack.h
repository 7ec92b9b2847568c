// The LAPACK routines by which the ops of this folder are computed, for float, double and complex
// of both. Matrices are as in LAPACK: column-major, without gaps. Each routine returns `info`: 0,
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

// `triangle` is the one that holds the matrix, 'L' or 'U'; the factor replaces it.
template <class T>
int potrf(char triangle, int n, T* a);
// Computes a = P L U in place, for m rows and n columns, with min(m, n) pivots: rows i and
// pivots[i] - 1 are exchanged.
template <class T>
int getrf(int m, int n, T* a, int* pivots);
// Computes Householder reflectors below the diagonal and R on and above it, with min(m, n) taus.
// With `pivots` (n of them; on entry, columns whose pivot is not 0 come first) columns are pivoted.
template <class T>
int geqrf(int m, int n, T* a, T* taus);
template <class T>
int geqp3(int m, int n, T* a, int* pivots, T* taus);
// Replaces k reflectors by the first n columns of their product.
template <class T>
int orgqr(int m, int n, int k, T* a, const T* taus);
// Multiplies c, of m rows and n columns, by the product of k reflectors from the left or right, or
// by its adjoint if `adjoint`. `a` is changed during the call, and restored.
template <class T>
int ormqr(bool left, bool adjoint, int m, int n, int k, T* a, const T* taus, T* c);
// Replaces b, m by n, by op(a)^-1 b, or b op(a)^-1: a BLAS routine, whose transposition is 'N', 'T'
// or 'C'.
template <class T>
void trsm(bool left, bool lower, char transposition, bool unit_diagonal, int m, int n, const T* a,
          T* b);
// Computes eigenvalues, ascending, and replaces a by the eigenvectors.
template <class T>
int syevd(char triangle, int n, T* a, Real<T>* w);
// Modes: 'A' all columns of U and rows of V^H, 'S' the first min(m, n), 'N' none. By divide and
// conquer, or by QR iterations.
template <class T>
int gesdd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
template <class T>
int gesvd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
// Computes eigenvalues and, if requested, left and right eigenvectors, which are complex. `a` is
// overwritten.
template <class T>
int geev(bool left, bool right, int n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* vl,
         std::complex<Real<T>>* vr);
// Replaces a by its Schur form, and computes its vectors, if requested, and eigenvalues.
template <class T>
int gees(bool vectors, int n, T* a, std::complex<Real<T>>* w, T* vs);
// Computes the upper Hessenberg form and reflectors, with n - 1 taus.
template <class T>
int gehrd(int n, T* a, T* taus);
// Computes the tridiagonal form and reflectors: n of d, n - 1 of e and taus.
template <class T>
int sytrd(char triangle, int n, T* a, Real<T>* d, Real<T>* e, T* taus);
// Computes c = alpha op(a) op(b) + beta c for m by k and k by n matrices, with leading dimensions.
template <class T>
void gemm(char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc);
// geqrf of a panel with m >= n by recursion; it returns the triangular factor of its reflectors, n
// by n, instead of taus.
template <class T>
int geqrt3(int m, int n, T* a, int lda, T* t, int ldt);
// Computes the bidiagonal form and reflectors, m >= n: n of d and of both taus, n - 1 of e.
template <class T>
int gebrd(int m, int n, T* a, Real<T>* d, Real<T>* e, T* left_taus, T* right_taus);
// Computes all eigenvectors of a tridiagonal matrix, and replaces d by its eigenvalues, ascending.
template <class R>
int stedc(int n, R* d, R* e, R* z);
// Computes all singular vectors of an upper bidiagonal matrix, u and v^T, and replaces d by its
// singular values.
template <class R>
int bdsdc(int n, R* d, R* e, R* u, R* vt);
// Solves with `columns` right-hand sides; lower and upper have n - 1 elements. All are overwritten;
// b becomes the solution.
template <class T>
int gtsv(int n, int columns, T* lower, T* d, T* upper, T* b);

}  // namespace tessera::ops::lapack
