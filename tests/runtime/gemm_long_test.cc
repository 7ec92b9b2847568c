// Compares products of long sums with sums in float64, for sizes around those of blocks, squares
// and slices.
#include "tessera/runtime/products/gemm_long.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "tessera/runtime/products/gemm_avx512.h"

namespace tessera::gemm_long_test {

using namespace runtime;

namespace {

std::vector<float> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

MatrixRef rows_of(const std::vector<float>& x, int64_t row) {
  return {reinterpret_cast<const std::byte*>(x.data()), row, 1};
}
MatrixRef columns_of(const std::vector<float>& x, int64_t column) {
  return {reinterpret_cast<const std::byte*>(x.data()), 1, column};
}

// Checks the product of m rows of a and n rows of b, whose rows are `beyond` elements apart. The
// elements of c beyond the result must not change.
void expect_product(const std::vector<float>& a, const std::vector<float>& b, int64_t m, int64_t n,
                    int64_t k, int64_t beyond) {
  const int64_t row = k + beyond, ldc = n + beyond;
  std::vector<float> c(static_cast<size_t>(m * ldc), 7.0F);
  ASSERT_TRUE(gemm_long(m, n, k, rows_of(a, row), columns_of(b, row), c.data(), ldc))
      << m << " " << n << " " << k;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < ldc; ++j) {
      double want = 0, size = 0;
      for (int64_t p = 0; j < n && p < k; ++p) {
        const double term = static_cast<double>(a[static_cast<size_t>(i * row + p)]) *
                            static_cast<double>(b[static_cast<size_t>(j * row + p)]);
        want += term;
        size += std::abs(term);
      }
      const double got = c[static_cast<size_t>(i * ldc + j)];
      EXPECT_NEAR(got, j < n ? want : 7, 1e-6 * size) << i << " " << j;
    }
}

TEST(GemmLong, IsTheProduct) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "this CPU has no AVX-512";
  std::mt19937 random(1);
  for (const int64_t beyond : {0, 5})
    for (const auto& [m, n, k] : std::vector<std::array<int64_t, 3>>{{4, 4, 512},
                                                                     {16, 16, 1024},
                                                                     {7, 35, 515},
                                                                     {36, 7, 1023},
                                                                     {17, 18, 1025},
                                                                     {33, 50, 2049}}) {
      // No more elements than there are: a read beyond them is found by the address sanitizer.
      const std::vector<float> a = numbers(m * (k + beyond) - beyond, random),
                               b = numbers(n * (k + beyond) - beyond, random);
      expect_product(a, b, m, n, k, beyond);
    }
}

TEST(GemmLong, AMatrixByItsTransposeIsSymmetric) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "this CPU has no AVX-512";
  std::mt19937 random(2);
  for (const int64_t m : {4, 15, 16, 35}) {
    const int64_t k = 1040;
    const std::vector<float> a = numbers(m * k, random), copy = a;
    expect_product(a, a, m, m, k, 0);
    std::vector<float> c(static_cast<size_t>(m * m)), plain = c;
    ASSERT_TRUE(gemm_long(m, m, k, rows_of(a, k), columns_of(a, k), c.data(), m));
    ASSERT_TRUE(gemm_long(m, m, k, rows_of(a, k), columns_of(copy, k), plain.data(), m));
    EXPECT_EQ(c, plain);
  }
}

TEST(GemmLong, LeavesOtherProductsToLibraries) {
  std::mt19937 random(3);
  const std::vector<float> a = numbers(80 * 1024, random);
  std::vector<float> c(80 * 80, 7.0F);
  const auto computes = [&](int64_t m, int64_t n, int64_t k, const MatrixRef& x,
                            const MatrixRef& y) { return gemm_long(m, n, k, x, y, c.data(), n); };
  const MatrixRef rows = rows_of(a, 1024), columns = columns_of(a, 1024);
  EXPECT_EQ(computes(16, 80, 1024, rows, columns), cpu_has_avx512());
  EXPECT_EQ(computes(64, 80, 1024, rows, columns), cpu_has_avx512());
  c.assign(c.size(), 7.0F);
  EXPECT_FALSE(computes(16, 80, 511, rows, columns));
  EXPECT_FALSE(computes(17, 80, 1023, rows, columns));
  EXPECT_FALSE(computes(80, 80, 1024, rows, columns));
  EXPECT_FALSE(computes(3, 80, 1024, rows, columns));
  EXPECT_FALSE(computes(5, 80, 1024, rows, columns));
  EXPECT_FALSE(computes(16, 16, 1024, columns_of(a, 80), columns));
  EXPECT_FALSE(computes(16, 16, 1024, rows, rows_of(a, 80)));
  EXPECT_EQ(c, std::vector<float>(80 * 80, 7.0F));
}

}  // namespace
}  // namespace tessera::gemm_long_test
