#include "tessera/ops/factor/small_eigenvalues.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tessera/ops/factor/lapack.h"
#include "tessera/ops/factor/matrix_op.h"

namespace tessera::testing_ops::small_eigenvalues_test {

using namespace ops::factor;

namespace {

constexpr int64_t kMost = 8;

size_t as_size(int64_t n) { return static_cast<size_t>(n); }

template <class T>
class SmallEigenvalues : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_small_eigenvalues(2)) GTEST_SKIP() << "this CPU has no fused multiply-add";
  }
};
using Dtypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(SmallEigenvalues, Dtypes);

template <class T>
struct Found {
  std::vector<T> w;
  std::vector<int32_t> info;
};
template <class T>
Found<T> found(int64_t n, bool lower, const std::vector<T>& a) {
  const int64_t members = static_cast<int64_t>(a.size()) / (n * n);
  Found<T> out{std::vector<T>(as_size(members * n)), std::vector<int32_t>(as_size(members), 7)};
  small_eigenvalues<T>(
      {.n = n, .lower = lower, .a = a.data(), .w = out.w.data(), .info = out.info.data()}, members);
  return out;
}

// The eigenvalues of one symmetric matrix, by Jacobi's rotations in long double.
std::vector<long double> exact(int64_t n, std::vector<long double> a) {
  auto at = [&](int64_t i, int64_t j) -> long double& { return a[as_size(i * n + j)]; };
  for (int sweep = 0; sweep < 30; ++sweep)
    for (int64_t p = 0; p < n; ++p)
      for (int64_t q = p + 1; q < n; ++q) {
        if (at(p, q) == 0) continue;
        const long double angle = std::atan2(2 * at(p, q), at(q, q) - at(p, p)) / 2;
        const long double c = std::cos(angle), s = std::sin(angle);
        for (int64_t k = 0; k < n; ++k) {
          const long double x = at(k, p), y = at(k, q);
          at(k, p) = c * x - s * y;
          at(k, q) = s * x + c * y;
        }
        for (int64_t k = 0; k < n; ++k) {
          const long double x = at(p, k), y = at(q, k);
          at(p, k) = c * x - s * y;
          at(q, k) = s * x + c * y;
        }
      }
  std::vector<long double> w;
  for (int64_t i = 0; i < n; ++i) w.push_back(at(i, i));
  std::sort(w.begin(), w.end());
  return w;
}

// Compares the eigenvalues of the triangle with exact ones, by the size of the largest.
template <class T>
void check(int64_t n, bool lower, const std::vector<T>& a, double tolerance = 10) {
  const Found<T> got = found(n, lower, a);
  for (size_t member = 0; member < got.info.size(); ++member) {
    std::vector<long double> one;
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < n; ++j) {
        const bool mirrored = lower ? i < j : i > j;
        one.push_back(a[member * as_size(n * n) + as_size(mirrored ? j * n + i : i * n + j)]);
      }
    const std::vector<long double> want = exact(n, one);
    const long double largest = std::max(std::abs(want.front()), std::abs(want.back()));
    EXPECT_EQ(got.info[member], 0);
    for (size_t i = 0; i < want.size(); ++i)
      ASSERT_LE(std::abs(got.w[member * as_size(n) + i] - want[i]),
                tolerance * std::numeric_limits<T>::epsilon() * largest +
                    std::numeric_limits<T>::denorm_min())
          << "eigenvalue " << i << " of matrix " << member << " of " << n << " rows, "
          << static_cast<double>(want[i]);
  }
}

template <class T>
std::vector<T> random(int64_t n, int64_t members, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<T> out(as_size(n * n * members));
  for (T& x : out) x = static_cast<T>(real(rng));
  return out;
}

TYPED_TEST(SmallEigenvalues, OfEitherTriangle) {
  for (int64_t n = 1; n <= kMost; ++n)
    for (const int64_t members : {1, 3, 8, 37})
      for (const bool lower : {false, true})
        check<TypeParam>(n, lower, random<TypeParam>(n, members, static_cast<uint32_t>(n)));
}

// Elements (i, j) of the sizes 10^(-step (i + j)).
TYPED_TEST(SmallEigenvalues, OfGradedMatrices) {
  for (const double step : {0.3, 1.0, 2.5, 4.0}) {
    std::vector<TypeParam> a = random<TypeParam>(6, 20, 5);
    for (size_t e = 0; e < a.size(); ++e)
      a[e] *= static_cast<TypeParam>(
          std::pow(10.0, -step * static_cast<double>(e % 6 + e / 6 % 6) / 2));
    check<TypeParam>(6, true, a);
  }
}

// Eigenvalues that are equal or nearly so: I + 2^-k u u', also with k so large that nothing is
// left.
TYPED_TEST(SmallEigenvalues, OfClusters) {
  for (const int64_t n : {2, 3, 5, 8})
    for (int k = 0; k < 60; ++k) {
      std::vector<TypeParam> a(as_size(n * n));
      for (int64_t i = 0; i < n; ++i)
        for (int64_t j = 0; j < n; ++j)
          a[as_size(i * n + j)] = static_cast<TypeParam>(
              (i == j ? 1 : 0) + std::ldexp(static_cast<double>((i + 1) * (j + 2)), -k));
      check<TypeParam>(n, true, a);
    }
}

TYPED_TEST(SmallEigenvalues, OfZerosAndDiagonalMatricesAreExact) {
  using T = TypeParam;
  for (int64_t n = 1; n <= kMost; ++n) {
    EXPECT_EQ(found<T>(n, true, std::vector<T>(as_size(n * n))).w, std::vector<T>(as_size(n)));
    std::vector<T> a(as_size(n * n)), want;
    for (int64_t i = 0; i < n; ++i) {
      a[as_size(i * n + i)] = T(i % 3 == 0 ? -i : 1) / T(3 + i);
      want.push_back(a[as_size(i * n + i)]);
    }
    std::sort(want.begin(), want.end());
    EXPECT_EQ(found<T>(n, false, a).w, want);
  }
}

TYPED_TEST(SmallEigenvalues, OfTheLargestAndSmallestNumbers) {
  using L = std::numeric_limits<TypeParam>;
  for (const TypeParam size : {L::max() / 16, L::max() / 1024, L::min(), L::min() * 64,
                               L::denorm_min() * 4096, std::sqrt(L::max()), std::sqrt(L::min())})
    for (const int64_t n : {2, 3, 8}) {
      std::vector<TypeParam> a = random<TypeParam>(n, 9, 2);
      for (TypeParam& x : a) x *= size;
      check<TypeParam>(n, true, a);
    }
}

// Any element that is not finite makes its matrix NaN, but no other; also one of the other
// triangle.
TYPED_TEST(SmallEigenvalues, OfWhatIsNotFinite) {
  using T = TypeParam;
  constexpr int64_t n = 4, members = 20;
  std::vector<T> a = random<T>(n, members, 9);
  const Found<T> before = found<T>(n, true, a);
  a[5 * n * n + 3] = std::numeric_limits<T>::quiet_NaN();
  a[8 * n * n] = std::numeric_limits<T>::infinity();
  const Found<T> after = found<T>(n, true, a);
  for (int64_t member = 0; member < members; ++member) {
    const bool bad = member == 5 || member == 8;
    EXPECT_EQ(after.info[as_size(member)], bad ? ops::lapack::kNotFinite : 0);
    for (int64_t i = 0; i < n; ++i) {
      const T x = after.w[as_size(member * n + i)];
      if (bad)
        EXPECT_TRUE(std::isnan(x));
      else
        EXPECT_EQ(x, before.w[as_size(member * n + i)]);
    }
  }
}

// A matrix has the same eigenvalues, bit by bit, beside any others; and those of LAPACK up to
// rounding.
TYPED_TEST(SmallEigenvalues, DoNotDependOnTheBatch) {
  using T = TypeParam;
  for (const int64_t n : {2, 5, 8}) {
    constexpr int64_t members = 40;
    const std::vector<T> a = random<T>(n, members, 4);
    const Found<T> all = found<T>(n, true, a);
    for (int64_t member = 0; member < members; ++member) {
      std::vector<T> one(a.begin() + member * n * n, a.begin() + (member + 1) * n * n);
      const Found<T> alone = found<T>(n, true, one);
      EXPECT_EQ(std::memcmp(alone.w.data(), all.w.data() + member * n, as_size(n) * sizeof(T)), 0);
      std::vector<T> columns(one.size()), w(as_size(n));
      transpose_matrix(one.data(), n, n, columns.data());
      ops::lapack::syevd(false, 'L', static_cast<int>(n), columns.data(), w.data());
      for (size_t i = 0; i < w.size(); ++i)
        EXPECT_NEAR(alone.w[i], w[i], 40 * std::numeric_limits<T>::epsilon());
    }
  }
}

TEST(SmallEigenvaluesLimits, LargeMatricesAreLeftToLapack) {
  EXPECT_FALSE(has_small_eigenvalues(0));
  EXPECT_FALSE(has_small_eigenvalues(kMost + 1));
}

}  // namespace
}  // namespace tessera::testing_ops::small_eigenvalues_test
