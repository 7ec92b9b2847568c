#include "tessera/ops/factor/lapack.h"

#include <cblas.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/base/workspace.h"

// LAPACK's declarations as installed, with C++'s complex types. The lengths of strings are
// additional arguments at the end, as in gfortran.
#define lapack_complex_float std::complex<float>
#define lapack_complex_double std::complex<double>
#include <lapack.h>

namespace tessera::ops::lapack {
namespace {

using Complex64 = std::complex<float>;
using Complex128 = std::complex<double>;
static_assert(std::is_same_v<lapack_int, int>);

// LAPACK's routines for one dtype, under names without the dtype. Routines for Hermitian matrices
// have the names of those for symmetric ones.
template <class T>
struct Routines;
#define TESSERA_ROUTINES(P, T, ORTHOGONAL, SYMMETRIC)   \
  template <>                                           \
  struct Routines<T> {                                  \
    static constexpr auto* potrf = P##potrf_;           \
    static constexpr auto* getrf = P##getrf_;           \
    static constexpr auto* geqrf = P##geqrf_;           \
    static constexpr auto* geqp3 = P##geqp3_;           \
    static constexpr auto* gehrd = P##gehrd_;           \
    static constexpr auto* gtsv = P##gtsv_;             \
    static constexpr auto* trsm = cblas_##P##trsm;      \
    static constexpr auto* gemm = cblas_##P##gemm;      \
    static constexpr auto* geqrt3 = P##geqrt3_;         \
    static constexpr auto* gebrd = P##gebrd_;           \
    static constexpr auto* gesdd = P##gesdd_;           \
    static constexpr auto* gesvd = P##gesvd_;           \
    static constexpr auto* geev = P##geev_;             \
    static constexpr auto* gees = P##gees_;             \
    static constexpr auto* orgqr = P##ORTHOGONAL##gqr_; \
    static constexpr auto* ormqr = P##ORTHOGONAL##mqr_; \
    static constexpr auto* syevd = P##SYMMETRIC##evd_;  \
    static constexpr auto* sytrd = P##SYMMETRIC##trd_;  \
  };
TESSERA_ROUTINES(s, float, or, sy)
TESSERA_ROUTINES(d, double, or, sy)
TESSERA_ROUTINES(c, Complex64, un, he)
TESSERA_ROUTINES(z, Complex128, un, he)

// Routines that exist for real matrices only.
template <class R>
struct RealRoutines;
#define TESSERA_REAL_ROUTINES(P, R)           \
  template <>                                 \
  struct RealRoutines<R> {                    \
    static constexpr auto* stedc = P##stedc_; \
    static constexpr auto* bdsdc = P##bdsdc_; \
  };
TESSERA_REAL_ROUTINES(s, float)
TESSERA_REAL_ROUTINES(d, double)

// CBLAS takes real factors by value and complex ones by address.
template <class T>
auto blas_factor(const T& factor) {
  if constexpr (is_complex<T>) {
    return static_cast<const void*>(&factor);
  } else {
    return factor;
  }
}
CBLAS_TRANSPOSE blas_transposition(char op) {
  return op == 'N' ? CblasNoTrans : op == 'T' ? CblasTrans : CblasConjTrans;
}

// Returns the leading dimension of a matrix with this many rows; LAPACK requires at least 1.
int ld(int rows) { return std::max(rows, 1); }

// Calls a routine twice: once for the size of its workspace, then with the workspace.
template <class T, class F>
int with_work(F&& routine) {
  int info = 0;
  T size{};
  routine(&size, -1, &info);
  const int count = std::max(1, static_cast<int>(std::ceil(std::real(size))));
  const Workspace<T> work(count);
  routine(work.data(), count, &info);
  return info;
}

// Returns how many real numbers the complex gesdd needs as workspace, according to its
// documentation.
int64_t gesdd_reals(char mode, int m, int n) {
  const int64_t small = std::min(m, n), large = std::max(m, n);
  if (mode == 'N') return 7 * small;
  return small * std::max(5 * small + 7, 2 * large + 2 * small + 1);
}

// Unpacks real eigenvectors in LAPACK's form: for a pair of conjugate eigenvalues, two columns hold
// the real and the imaginary part of the first eigenvalue's vector.
template <class R>
void unpack_vectors(int n, const R* imag, const R* packed, std::complex<R>* out) {
  for (int j = 0; j < n; ++j) {
    const R* re = packed + static_cast<int64_t>(j) * n;
    std::complex<R>* to = out + static_cast<int64_t>(j) * n;
    const bool pair = imag[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      to[i] = {re[i], pair ? re[n + i] : R{0}};
      if (pair) to[n + i] = std::conj(to[i]);
    }
    j += pair;
  }
}

}  // namespace

template <class T>
int potrf(char triangle, int n, T* a) {
  int info = 0;
  const int lda = ld(n);
  Routines<T>::potrf(&triangle, &n, a, &lda, &info, 1);
  return info;
}

template <class T>
int getrf(int m, int n, T* a, int* pivots) {
  int info = 0;
  const int lda = ld(m);
  Routines<T>::getrf(&m, &n, a, &lda, pivots, &info);
  return info;
}

template <class T>
int geqrf(int m, int n, T* a, T* taus) {
  const int lda = ld(m);
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::geqrf(&m, &n, a, &lda, taus, work, &count, info);
  });
}

template <class T>
int geqp3(int m, int n, T* a, int* pivots, T* taus) {
  if (m == 0 || n == 0) {  // the size that geqp3 asks for is not the one that it expects then
    std::vector<int> order;
    for (const bool fixed : {true, false})
      for (int c = 0; c < n; ++c)
        if ((pivots[c] != 0) == fixed) order.push_back(c + 1);
    std::copy(order.begin(), order.end(), pivots);
    return 0;
  }
  const int lda = ld(m);
  const Workspace<Real<T>> reals(2 * n);
  return with_work<T>([&](T* work, int count, int* info) {
    if constexpr (is_complex<T>)
      Routines<T>::geqp3(&m, &n, a, &lda, pivots, taus, work, &count, reals.data(), info);
    else
      Routines<T>::geqp3(&m, &n, a, &lda, pivots, taus, work, &count, info);
  });
}

template <class T>
int orgqr(int m, int n, int k, T* a, const T* taus) {
  const int lda = ld(m);
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::orgqr(&m, &n, &k, a, &lda, taus, work, &count, info);
  });
}

template <class T>
int ormqr(bool left, bool adjoint, int m, int n, int k, T* a, const T* taus, T* c) {
  if (m == 0 || n == 0 || k == 0)
    return 0;  // the size that ormqr asks for is not the one that it expects then
  const int lda = ld(left ? m : n), ldc = ld(m);
  const char side = left ? 'L' : 'R', op = !adjoint ? 'N' : is_complex<T> ? 'C' : 'T';
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::ormqr(&side, &op, &m, &n, &k, a, &lda, taus, c, &ldc, work, &count, info, 1, 1);
  });
}

template <class T>
void trsm(bool left, bool lower, char transposition, bool unit_diagonal, int m, int n, const T* a,
          T* b, int ldb) {
  const T one{1};
  Routines<T>::trsm(CblasColMajor, left ? CblasLeft : CblasRight, lower ? CblasLower : CblasUpper,
                    blas_transposition(transposition), unit_diagonal ? CblasUnit : CblasNonUnit, m,
                    n, blas_factor(one), a, ld(left ? m : n), b, ld(ldb));
}

template <class T>
int syevd(bool vectors, char triangle, int n, T* a, Real<T>* w) {
  const char mode = vectors ? 'V' : 'N';
  const int lda = ld(n), integers = 3 + 5 * n;
  const Workspace<int> more(integers);
  if constexpr (is_complex<T>) {
    const int reals = 1 + 5 * n + 2 * n * n;
    const Workspace<Real<T>> real(reals);
    return with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::syevd(&mode, &triangle, &n, a, &lda, w, work, &count, real.data(),
                         count < 0 ? &count : &reals, more.data(), count < 0 ? &count : &integers,
                         info, 1, 1);
    });
  } else {
    return with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::syevd(&mode, &triangle, &n, a, &lda, w, work, &count, more.data(),
                         count < 0 ? &count : &integers, info, 1, 1);
    });
  }
}

template <class T>
int gesdd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt) {
  const int lda = ld(m), ldvt = ld(mode == 'A' ? n : std::min(m, n));
  const Workspace<int> integers(8 * std::min(m, n));
  const Workspace<Real<T>> reals(is_complex<T> ? gesdd_reals(mode, m, n) : 1);
  return with_work<T>([&](T* work, int count, int* info) {
    if constexpr (is_complex<T>)
      Routines<T>::gesdd(&mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &count, reals.data(),
                         integers.data(), info, 1);
    else
      Routines<T>::gesdd(&mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &count,
                         integers.data(), info, 1);
  });
}

template <class T>
int gesvd(char mode, int m, int n, T* a, Real<T>* s, T* u, T* vt) {
  const int lda = ld(m), ldvt = ld(mode == 'A' ? n : std::min(m, n));
  const Workspace<Real<T>> reals(5 * std::min(m, n));
  return with_work<T>([&](T* work, int count, int* info) {
    if constexpr (is_complex<T>)
      Routines<T>::gesvd(&mode, &mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &count,
                         reals.data(), info, 1, 1);
    else
      Routines<T>::gesvd(&mode, &mode, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &count, info,
                         1, 1);
  });
}

template <class T>
int geev(bool left, bool right, int n, T* a, std::complex<Real<T>>* w, std::complex<Real<T>>* vl,
         std::complex<Real<T>>* vr) {
  const char l = left ? 'V' : 'N', r = right ? 'V' : 'N';
  const int lda = ld(n);
  if constexpr (is_complex<T>) {
    const Workspace<Real<T>> reals(2 * n);
    return with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::geev(&l, &r, &n, a, &lda, w, vl, &lda, vr, &lda, work, &count, reals.data(),
                        info, 1, 1);
    });
  } else {
    const int64_t elements = static_cast<int64_t>(n) * n;
    const Workspace<T> re(n), im(n), packed_left(left ? elements : 1),
        packed_right(right ? elements : 1);
    const int info = with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::geev(&l, &r, &n, a, &lda, re.data(), im.data(), packed_left.data(), &lda,
                        packed_right.data(), &lda, work, &count, info, 1, 1);
    });
    for (int i = 0; i < n; ++i) w[i] = {re.data()[i], im.data()[i]};
    if (info == 0 && left) unpack_vectors(n, im.data(), packed_left.data(), vl);
    if (info == 0 && right) unpack_vectors(n, im.data(), packed_right.data(), vr);
    return info;
  }
}

template <class T>
int gees(bool vectors, int n, T* a, std::complex<Real<T>>* w, T* vs) {
  const char mode = vectors ? 'V' : 'N', sort = 'N';
  const int lda = ld(n);
  int selected = 0;
  if constexpr (is_complex<T>) {
    const Workspace<Real<T>> reals(n);
    return with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::gees(&mode, &sort, nullptr, &n, a, &lda, &selected, w, vs, &lda, work, &count,
                        reals.data(), nullptr, info, 1, 1);
    });
  } else {
    const Workspace<T> re(n), im(n);
    const int info = with_work<T>([&](T* work, int count, int* info) {
      Routines<T>::gees(&mode, &sort, nullptr, &n, a, &lda, &selected, re.data(), im.data(), vs,
                        &lda, work, &count, nullptr, info, 1, 1);
    });
    for (int i = 0; i < n; ++i) w[i] = {re.data()[i], im.data()[i]};
    return info;
  }
}

template <class T>
int gehrd(int n, T* a, T* taus) {
  const int low = 1, lda = ld(n);
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::gehrd(&n, &low, &n, a, &lda, taus, work, &count, info);
  });
}

template <class T>
int sytrd(char triangle, int n, T* a, Real<T>* d, Real<T>* e, T* taus) {
  const int lda = ld(n);
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::sytrd(&triangle, &n, a, &lda, d, e, taus, work, &count, info, 1);
  });
}

template <class T>
int gtsv(int n, int columns, T* lower, T* d, T* upper, T* b) {
  int info = 0;
  const int ldb = ld(n);
  Routines<T>::gtsv(&n, &columns, lower, d, upper, b, &ldb, &info);
  return info;
}

template <class T>
void gemm(char op_a, char op_b, int m, int n, int k, T alpha, const T* a, int lda, const T* b,
          int ldb, T beta, T* c, int ldc) {
  Routines<T>::gemm(CblasColMajor, blas_transposition(op_a), blas_transposition(op_b), m, n, k,
                    blas_factor(alpha), a, lda, b, ldb, blas_factor(beta), c, ldc);
}

template <class T>
int geqrt3(int m, int n, T* a, int lda, T* t, int ldt) {
  int info = 0;
  Routines<T>::geqrt3(&m, &n, a, &lda, t, &ldt, &info);
  return info;
}

template <class T>
int gebrd(int m, int n, T* a, Real<T>* d, Real<T>* e, T* left_taus, T* right_taus) {
  const int lda = ld(m);
  return with_work<T>([&](T* work, int count, int* info) {
    Routines<T>::gebrd(&m, &n, a, &lda, d, e, left_taus, right_taus, work, &count, info);
  });
}

template <class R>
int stedc(int n, R* d, R* e, R* z) {
  const char mode = 'I';
  const int ldz = ld(n), integers = 3 + 5 * n;
  const Workspace<int> more(integers);
  return with_work<R>([&](R* work, int count, int* info) {
    RealRoutines<R>::stedc(&mode, &n, d, e, z, &ldz, work, &count, more.data(),
                           count < 0 ? &count : &integers, info, 1);
  });
}

template <class R>
int bdsdc(int n, R* d, R* e, R* u, R* vt) {
  const char upper = 'U', mode = 'I';
  const int ldu = ld(n);
  const Workspace<R> work(int64_t{3} * n * n + 4 * n);
  const Workspace<int> integers(int64_t{8} * n);
  int info = 0, unused_integer = 0;
  R unused{};
  RealRoutines<R>::bdsdc(&upper, &mode, &n, d, e, u, &ldu, vt, &ldu, &unused, &unused_integer,
                         work.data(), integers.data(), &info, 1, 1);
  return info;
}

#define TESSERA_INSTANTIATE(T)                                                                \
  template int potrf(char, int, T*);                                                          \
  template int getrf(int, int, T*, int*);                                                     \
  template int geqrf(int, int, T*, T*);                                                       \
  template int geqp3(int, int, T*, int*, T*);                                                 \
  template int orgqr(int, int, int, T*, const T*);                                            \
  template int ormqr(bool, bool, int, int, int, T*, const T*, T*);                            \
  template void trsm(bool, bool, char, bool, int, int, const T*, T*, int);                    \
  template int syevd(bool, char, int, T*, Real<T>*);                                          \
  template int gesdd(char, int, int, T*, Real<T>*, T*, T*);                                   \
  template int gesvd(char, int, int, T*, Real<T>*, T*, T*);                                   \
  template int geev(bool, bool, int, T*, std::complex<Real<T>>*, std::complex<Real<T>>*,      \
                    std::complex<Real<T>>*);                                                  \
  template int gees(bool, int, T*, std::complex<Real<T>>*, T*);                               \
  template int gehrd(int, T*, T*);                                                            \
  template int sytrd(char, int, T*, Real<T>*, Real<T>*, T*);                                  \
  template int gtsv(int, int, T*, T*, T*, T*);                                                \
  template void gemm(char, char, int, int, int, T, const T*, int, const T*, int, T, T*, int); \
  template int geqrt3(int, int, T*, int, T*, int);                                            \
  template int gebrd(int, int, T*, Real<T>*, Real<T>*, T*, T*);
TESSERA_INSTANTIATE(float)
TESSERA_INSTANTIATE(double)
TESSERA_INSTANTIATE(Complex64)
TESSERA_INSTANTIATE(Complex128)
template int stedc(int, float*, float*, float*);
template int stedc(int, double*, double*, double*);
template int bdsdc(int, float*, float*, float*, float*);
template int bdsdc(int, double*, double*, double*, double*);

}  // namespace tessera::ops::lapack
