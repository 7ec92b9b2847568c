// The LAPACK routines by which the ops of this folder are computed, for float, double and the
// complex types of both. Matrices are as in LAPACK, column-major, and without gaps between columns.
// Each routine returns LAPACK's `info`: 0, or a number for the error. Pivots count from 1. Callers
// set OpenBLAS's threads (base/blas.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
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

// Returns whether no element is infinite or NaN. Iterations for eigenvalues and singular values may
// never end for such elements, so they are not called with them.
template <class T>
bool all_finite(const T* x, int64_t count) {
  return std::all_of(
      x, x + count, [](T v) { return std::isfinite(std::real(v)) && std::isfinite(std::imag(v)); });
}
// The info of a matrix that is not finite: the one that LAPACK's routines return that check this.
inline constexpr int kNotFinite = -4;
template <class T>
void fill_nan(T* x, int64_t count) {
  std::fill_n(x, count, T(std::numeric_limits<Real<T>>::quiet_NaN()));
}

// Replaces one triangle of the Hermitian matrix a ('L' or 'U') by its Cholesky factor.
template <class T>
int potrf(char triangle, int n, T* a);
// Computes a = P L U in place, for m rows and n columns, with min(m, n) pivots: row i was exchanged
// with row pivots[i] - 1.
template <class T>
int getrf(int m, int n, T* a, int* pivots);
// Computes Householder reflectors below the diagonal and R on and above it, with min(m, n) taus.
// geqp3 also pivots columns: it writes n pivots, and columns whose pivot is not 0 on entry come
// first.
template <class T>
int geqrf(int m, int n, T* a, T* taus);
template <class T>
int geqp3(int m, int n, T* a, int* pivots, T* taus);
// Replaces k reflectors by the first n columns of their product.
template <class T>
int orgqr(int m, int n, int k, T* a, const T* taus);
// Multiplies c, of m rows and n columns, by the product of k reflectors from the left or right; by
// the adjoint of the product if `adjoint`. `a` is changed during the call, and restored.
template <class T>
int ormqr(bool left, bool adjoint, int m, int n, int k, T* a, const T* taus, T* c);
// Replaces b (m by n, columns at distance ldb) by op(a)^-1 b if `left`, or else by b op(a)^-1. The
// transposition op is 'N', 'T' or 'C'. This is a routine of BLAS.
template <class T>
void trsm(bool left, bool lower, char transposition, bool unit_diagonal, int m, int n, const T* a,
          T* b, int ldb);
// Writes the eigenvalues of a Hermitian matrix to w, ascending, and replaces a by the eigenvectors;
// if `vectors` is false, by anything.
template <class T>
int syevd(bool vectors, char triangle, int n, T* a, Real<T>* w);
// Compute the singular value decomposition. The mode is 'A' for all columns of U and rows of V^H,
// 'S' for the first min(m, n), 'N' for none. gesdd divides and conquers, gesvd uses QR iterations.
template <class T>
int gesdd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
template <class T>
int gesvd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt);
// Computes eigenvalues and, if requested, left and right eigenvectors, which are complex. `a` is
// overwritten.
template <class T>
int geev(bool left, bool right, int n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* vl,
         std::complex<Real<T>>* vr);
// Replaces a by its Schur form, and computes its eigenvalues and, if requested, Schur vectors.
template <class T>
int gees(bool vectors, int n, T* a, std::complex<Real<T>>* w, T* vs);
// Replaces a by its upper Hessenberg form and the reflectors, which have n - 1 taus.
template <class T>
int gehrd(int n, T* a, T* taus);
// Replaces a by reflectors, and writes its tridiagonal form: n elements of d, n - 1 of e and of
// taus.
template <class T>
int sytrd(char triangle, int n, T* a, Real<T>* d, Real<T>* e, T* taus);
// Computes c = alpha op(a) op(b) + beta c for op(a) of m by k and op(b) of k by n elements, stored
// with these leading dimensions.
template <class T>
void gemm(char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc);
// Does the same as geqrf for a panel with m >= n, by recursion. Instead of taus it writes the
// triangular factor T of the reflectors, n by n.
template <class T>
int geqrt3(int m, int n, T* a, int lda, T* t, int ldt);
// Replaces a (m >= n) by reflectors, and writes its bidiagonal form: n elements of d and of both
// taus, n - 1 of e.
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
