#include "tessera/ops/factor/small_cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <utility>
#include <vector>

namespace tessera::testing_ops::small_cholesky_test {

using namespace ops::factor;

namespace {

constexpr double kUnread = 1e30;  // in the triangle that must not be read

// Returns a positive definite matrix, of which only the given triangle is valid.
template <class T>
std::vector<T> matrix(int64_t n, bool lower, uint32_t seed) {
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<double> factor(static_cast<size_t>(n * n));
  for (double& x : factor) x = real(rng);
  std::vector<T> out(static_cast<size_t>(n * n), T(kUnread));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j) {
      if (lower ? j > i : j < i) continue;
      double sum = i == j ? 0.5 : 0;
      for (int64_t k = 0; k < n; ++k) sum += factor[i * n + k] * factor[j * n + k];
      out[static_cast<size_t>(i * n + j)] = static_cast<T>(sum);
    }
  return out;
}

// Multiplies the factors and compares with the matrix.
template <class T>
void check(int64_t n, bool lower) {
  const std::vector<T> a = matrix<T>(n, lower, static_cast<uint32_t>(n));
  std::vector<T> l(a.size(), T(7));
  const SmallCholesky result = small_cholesky(n, lower, a.data(), l.data());
  if (result == SmallCholesky::kLeftToLapack) GTEST_SKIP() << "this CPU has no fused multiply-add";
  ASSERT_EQ(result, SmallCholesky::kDone);
  const auto at = [&](int64_t i, int64_t k) -> double { return l[lower ? i * n + k : k * n + i]; };
  double largest = 0, apart = 0;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += at(i, k) * at(j, k);
      const double want = a[lower ? i * n + j : j * n + i];
      largest = std::max(largest, std::abs(want));
      apart = std::max(apart, std::abs(sum - want));
      if (j < i) {
        EXPECT_EQ(at(j, i), 0);
      }
    }
  EXPECT_LE(apart, 4 * std::numeric_limits<T>::epsilon() * largest * (4 + std::sqrt(double(n))))
      << n;
}

TEST(SmallCholesky, ProductsOfFactors) {
  for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 14, 15, 16, 17, 31, 32, 33, 63, 64, 100, 128})
    for (bool lower : {true, false}) {
      check<float>(n, lower);
      check<double>(n, lower);
    }
}

TEST(SmallCholesky, NotPositiveDefinite) {
  for (double wrong : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()})
    for (const auto& [n, at] : {std::pair(20, 0), std::pair(20, 5), std::pair(20, 19),
                                std::pair(3, 0), std::pair(8, 7)}) {
      std::vector<double> a = matrix<double>(n, true, 3), out(a.size(), 7);
      a[static_cast<size_t>((n + 1) * at)] = wrong;
      const SmallCholesky result = small_cholesky(n, true, a.data(), out.data());
      if (result == SmallCholesky::kLeftToLapack)
        GTEST_SKIP() << "this CPU has no fused multiply-add";
      EXPECT_EQ(result, SmallCholesky::kNotPositiveDefinite);
      EXPECT_EQ(out[0], 7);
    }
}

TEST(SmallCholesky, OtherSizesAreLeftToLapack) {
  for (int64_t n : {0, 9, 13, 129}) {
    const std::vector<double> a = matrix<double>(n, true, 1);
    std::vector<double> out(a.size(), 7);
    EXPECT_EQ(small_cholesky(n, true, a.data(), out.data()), SmallCholesky::kLeftToLapack);
  }
}

}  // namespace
}  // namespace tessera::testing_ops::small_cholesky_test
