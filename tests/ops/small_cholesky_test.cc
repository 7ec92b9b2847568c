#include "tessera/ops/factor/small_cholesky.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
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

// Multiplies the complex factors and compares with the matrix, whose other triangle and imaginary
// parts of the diagonal must not be read.
template <class T>
void check_complex(int n, bool lower) {
  using Number = std::complex<T>;
  std::mt19937 rng(static_cast<uint32_t>(n));
  std::uniform_real_distribution<double> real(-1, 1);
  std::vector<std::complex<double>> factor(static_cast<size_t>(n * n));
  for (auto& x : factor) x = {real(rng), real(rng)};
  std::vector<Number> a(factor.size(), Number(T(kUnread), T(kUnread))), l(a.size(), T(7));
  const auto product = [&](const auto& f, int i, int j) {
    std::complex<double> sum = 0;
    for (int k = 0; k < n; ++k)
      sum += std::complex<double>(f(i, k)) * std::conj(std::complex<double>(f(j, k)));
    return sum;
  };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      std::complex<double> x = product([&](int r, int k) { return factor[r * n + k]; }, i, j);
      if (i == j) x = {x.real() + 0.5, kUnread};
      a[static_cast<size_t>(lower ? i * n + j : j * n + i)] = Number(lower ? x : std::conj(x));
    }
  const SmallCholesky result = small_cholesky(n, lower, a.data(), l.data());
  if (result == SmallCholesky::kLeftToLapack) GTEST_SKIP() << "this CPU has no fused multiply-add";
  ASSERT_EQ(result, SmallCholesky::kDone);
  const auto at = [&](int i, int k) { return lower ? l[i * n + k] : std::conj(l[k * n + i]); };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      std::complex<double> want = lower ? a[i * n + j] : std::conj(a[j * n + i]);
      if (i == j) want = want.real();
      EXPECT_LE(std::abs(product(at, i, j) - want), 100 * std::numeric_limits<T>::epsilon()) << n;
      if (i == j)
        EXPECT_TRUE(at(i, i).imag() == 0 && !std::signbit(l[i * n + i].imag()));
      else
        EXPECT_EQ(at(j, i), Number(0));
    }
}

TEST(SmallCholesky, ProductsOfComplexFactors) {
  for (int n = 1; n <= 8; ++n)
    for (bool lower : {true, false}) {
      check_complex<float>(n, lower);
      check_complex<double>(n, lower);
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

TEST(SmallCholesky, ComplexMatricesThatAreNotPositiveDefinite) {
  using Number = std::complex<double>;
  const std::vector<Number> a{{2, 0}, {9, 9}, {1, 1}, {0.5, 0}};  // 0.5 < |1 + i|^2 / 2
  std::vector<Number> out(4, 7);
  const SmallCholesky result = small_cholesky(2, true, a.data(), out.data());
  if (result == SmallCholesky::kLeftToLapack) GTEST_SKIP() << "this CPU has no fused multiply-add";
  EXPECT_EQ(result, SmallCholesky::kNotPositiveDefinite);
  EXPECT_EQ(out[0], Number(7));
  const std::vector<Number> many(81);
  std::vector<Number> room(81);
  EXPECT_EQ(small_cholesky(9, true, many.data(), room.data()), SmallCholesky::kLeftToLapack);
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
