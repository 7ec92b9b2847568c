// Compares products of few long rows with 16 partial sums of fused multiply-adds, bit by bit, for
// sizes around those of blocks and vectors.
#include "tessera/runtime/gemm_long.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tessera/runtime/gemm_avx512.h"

namespace tessera::gemm_long_test {

using namespace runtime;

namespace {

std::vector<float> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

// Returns the sum of products of two rows in the order of gemm_long.h.
float sum_of_products(const float* x, const float* y, int64_t k) {
  float sums[16] = {};
  for (int64_t p = 0; p < k; ++p) sums[p % 16] = std::fma(x[p], y[p], sums[p % 16]);
  for (int half = 8; half > 0; half /= 2)
    for (int j = 0; j < half; ++j) sums[j] += sums[j + half];
  return sums[0];
}

// Computes one product of rows that are `beyond` elements longer than k, and checks it if the
// function computed it. The elements of c beyond the result must not change. Returns whether it was
// computed.
bool check_product(int64_t m, int64_t n, int64_t k, int64_t beyond, bool symmetric) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  const int64_t ld = k + beyond, ldc = n + beyond;
  // No more elements than there are: a read beyond them is found by the address sanitizer.
  const std::vector<float> a = numbers(m * ld - beyond, random),
                           b = numbers(n * ld - beyond, random);
  const float *pa = a.data(), *pb = symmetric ? pa : b.data();
  std::vector<float> c = numbers(m * ldc, random), want = c;
  const MatrixRef a_ref{reinterpret_cast<const std::byte*>(pa), ld, 1},
      b_ref{reinterpret_cast<const std::byte*>(pb), 1, ld};
  const bool computed = gemm_long(m, n, k, a_ref, b_ref, c.data(), ldc);
  if (computed)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j)
        want[static_cast<size_t>(i * ldc + j)] = sum_of_products(pa + i * ld, pb + j * ld, k);
  EXPECT_EQ(c, want) << m << " x " << n << " x " << k;
  return computed;
}

TEST(GemmLong, ManySizes) {
  int computed = 0;
  for (int64_t k : {256, 257, 1024, 1025, 1039, 2048})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{4, 4},
                        {8, 8},
                        {7, 8},
                        {16, 16},
                        {23, 35},
                        {64, 12},
                        {100, 8},
                        {64, 64}})
      for (int64_t beyond : {0, 3}) computed += check_product(m, n, k, beyond, false);
  if (cpu_has_avx512()) {
    EXPECT_GE(computed, 70);
  } else {
    EXPECT_EQ(computed, 0);
  }
}

// The product of a matrix and its transpose: the blocks below the diagonal are copies.
TEST(GemmLong, Symmetric) {
  for (int64_t k : {1025, 1500})
    for (int64_t n : {8, 16, 23, 100, 128})
      for (int64_t beyond : {0, 5})
        EXPECT_EQ(check_product(n, n, k, beyond, true), cpu_has_avx512()) << n;
}

// These are left to panels or to a library.
TEST(GemmLong, OtherProducts) {
  EXPECT_FALSE(check_product(16, 16, 1024, 0, false));  // panels
  EXPECT_FALSE(check_product(8, 8, 255, 0, false));
  EXPECT_FALSE(check_product(3, 16, 2000, 0, false));
  EXPECT_FALSE(check_product(5, 16, 2000, 0, false));  // blocks would compute 8 rows
  EXPECT_FALSE(check_product(128, 128, 2000, 0, false));
  // Rows that are apart by a multiple of 4096 bytes.
  EXPECT_EQ(check_product(96, 96, 2048, 0, false), cpu_has_avx512());
  const std::vector<float> x(16 * 2000);
  std::vector<float> c(256);
  const MatrixRef rows{reinterpret_cast<const std::byte*>(x.data()), 2000, 1},
      turned{reinterpret_cast<const std::byte*>(x.data()), 1, 16},
      columns{reinterpret_cast<const std::byte*>(x.data()), 16, 1};
  EXPECT_FALSE(gemm_long(16, 16, 2000, turned, rows, c.data(), 16));
  EXPECT_FALSE(gemm_long(16, 16, 2000, rows, columns, c.data(), 16));
}

}  // namespace
}  // namespace tessera::gemm_long_test
