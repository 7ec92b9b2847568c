// Compares factorisations of large matrices with LAPACK's own drivers: the factors are the same,
// with the same signs and phases.
#include "tessera/ops/factor/large_matrix.h"

#include <cblas.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <random>
#include <vector>

#include "tessera/base/blas.h"
#include "tessera/base/thread_pool.h"
#include "tessera/ops/factor/matrix_op.h"

namespace tessera::ops::factor::large_matrix_test {
namespace {

using lapack::Real;

template <class T>
using Matrix = std::vector<T>;  // in column-major order

template <class T>
Matrix<T> random(int64_t m, int64_t n) {
  std::mt19937 rng(5);
  std::normal_distribution<double> normal;
  Matrix<T> out(static_cast<size_t>(m * n));
  for (T& x : out) {
    const double re = normal(rng), im = normal(rng);
    if constexpr (lapack::is_complex<T>) {
      x = T(static_cast<Real<T>>(re), static_cast<Real<T>>(im));
    } else {
      x = static_cast<T>(re);
    }
  }
  return out;
}

template <class T>
T conjugate(T x) {
  if constexpr (lapack::is_complex<T>) return std::conj(x);
  return x;
}

template <class T>
double tolerance() {
  return sizeof(Real<T>) == 4 ? 2e-3 : 1e-10;
}

template <class T>
void expect_near(const Matrix<T>& a, const Matrix<T>& b) {
  ASSERT_EQ(a.size(), b.size());
  double worst = 0;
  for (size_t i = 0; i < a.size(); ++i)
    worst = std::max(worst, static_cast<double>(std::abs(a[i] - b[i])));
  EXPECT_LT(worst, tolerance<T>());
}

// Compares orthonormal columns with those of b. Close singular values may rotate their columns into
// each other a little.
template <class T>
void expect_same_columns(const Matrix<T>& a, const Matrix<T>& b, int64_t m, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    std::complex<double> inner = 0;
    for (int64_t i = 0; i < m; ++i)
      inner += std::complex<double>(conjugate(a[j * m + i])) * std::complex<double>(b[j * m + i]);
    EXPECT_LT(std::abs(inner - 1.0), 0.02) << "column " << j;
  }
}

template <class T>
class LargeMatrix : public ::testing::Test {};
using Elements = ::testing::Types<float, double, std::complex<float>, std::complex<double>>;
TYPED_TEST_SUITE(LargeMatrix, Elements);

TYPED_TEST(LargeMatrix, QrIsThatOfGeqrfAndOrgqr) {
  using T = TypeParam;
  prepare_blas();
  for (const auto& [m, n, columns] : std::vector<std::array<int64_t, 3>>{
           {200, 200, 200}, {300, 210, 210}, {300, 210, 300}, {200, 330, 200}}) {
    const int64_t small = std::min(m, n);
    const int im = static_cast<int>(m), in = static_cast<int>(n);
    const Matrix<T> x = random<T>(m, n);
    Matrix<T> a = x, q(static_cast<size_t>(m * columns)), want = x, taus(small);
    large_qr<T>(m, n, a.data(), columns, q.data());
    lapack::geqrf(im, in, want.data(), taus.data());
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i <= std::min(j, m - 1); ++i)
        ASSERT_LT(std::abs(a[j * m + i] - want[j * m + i]), tolerance<T>()) << i << " " << j;
    want.resize(static_cast<size_t>(m * std::max(n, columns)));
    lapack::orgqr(im, static_cast<int>(columns), static_cast<int>(small), want.data(), taus.data());
    want.resize(static_cast<size_t>(m * columns));
    expect_near(q, want);
  }
}

TYPED_TEST(LargeMatrix, EighIsThatOfSyevd) {
  using T = TypeParam;
  prepare_blas();
  const int64_t n = 260;
  Matrix<T> a = random<T>(n, n);
  for (int64_t j = 0; j < n; ++j) {
    a[j * n + j] = std::real(a[j * n + j]);
    for (int64_t i = 0; i < j; ++i) a[j * n + i] = conjugate(a[i * n + j]);
  }
  Matrix<T> want = a, z(static_cast<size_t>(n * n));
  std::vector<Real<T>> w(n), want_w(n);
  int info = -1;
  ASSERT_TRUE(large_eigh<T>(n, a.data(), w.data(), z.data(), &info));
  EXPECT_EQ(info, 0);
  lapack::syevd(true, 'L', static_cast<int>(n), want.data(), want_w.data());
  for (int64_t j = 0; j < n; ++j) EXPECT_NEAR(w[j], want_w[j], tolerance<T>());
  expect_same_columns(z, want, n, n);
}

TYPED_TEST(LargeMatrix, SvdIsThatOfGesdd) {
  using T = TypeParam;
  prepare_blas();
  for (const auto& [m, n] : std::vector<std::array<int64_t, 2>>{{220, 220}, {280, 200}}) {
    Matrix<T> a = random<T>(m, n), copy = a;
    Matrix<T> u(static_cast<size_t>(m * n)), v(static_cast<size_t>(n * n)), want_u = u, want_vt = v,
                                                                            turned = v;
    std::vector<Real<T>> s(n), want_s(n);
    int info = -1;
    ASSERT_TRUE(large_svd<T>(m, n, a.data(), s.data(), u.data(), v.data(), &info));
    EXPECT_EQ(info, 0);
    lapack::gesdd('S', static_cast<int>(m), static_cast<int>(n), copy.data(), want_s.data(),
                  want_u.data(), want_vt.data());
    for (int64_t j = 0; j < n; ++j) {
      EXPECT_NEAR(s[j], want_s[j], tolerance<T>());
      for (int64_t i = 0; i < n; ++i) turned[j * n + i] = conjugate(want_vt[i * n + j]);
    }
    expect_same_columns(u, want_u, m, n);
    expect_same_columns(v, turned, n, n);
  }
}

// Matrices that LAPACK would scale, or cannot factorise, are left to its drivers.
TYPED_TEST(LargeMatrix, LeavesWhatIsOutOfRange) {
  using T = TypeParam;
  const int64_t n = 200;
  std::vector<Real<T>> values(n);
  Matrix<T> z(static_cast<size_t>(n * n)), v = z;
  int info = 0;
  for (const double scale : {0.0, 1e-60 * (sizeof(Real<T>) == 4 ? 1e25 : 1e-200), double(NAN)}) {
    Matrix<T> a(static_cast<size_t>(n * n), T(static_cast<Real<T>>(scale)));
    EXPECT_FALSE(large_eigh<T>(n, a.data(), values.data(), z.data(), &info));
    EXPECT_FALSE(large_svd<T>(n, n, a.data(), values.data(), z.data(), v.data(), &info));
  }
  Matrix<T> small = random<T>(8, 8);
  EXPECT_FALSE(large_eigh<T>(8, small.data(), values.data(), z.data(), &info));
}

// On a quiet machine one thread takes at most twice as long as two. On a busy machine, threads that
// wait for each other take a hundred times as long.
TEST(BlasThreadsFor, OneThreadFactorizesMatricesOfSomeHundredRows) {
  const int before = num_threads();
  set_num_threads(2);
  const double lu = 2. / 3 * 256 * 256 * 256, singular_values = 4. * 256 * 256 * 256;
  for (const double operations : {lu, singular_values}) {
    const BlasThreads threads = blas_threads_for(operations);
    EXPECT_EQ(openblas_get_num_threads(), 1);
  }
  {
    const BlasThreads threads = blas_threads_for(2. / 3 * 1024 * 1024 * 1024);
    EXPECT_EQ(openblas_get_num_threads(), 2);
  }
  EXPECT_EQ(openblas_get_num_threads(), 1);
  set_num_threads(before);
}

}  // namespace
}  // namespace tessera::ops::factor::large_matrix_test
