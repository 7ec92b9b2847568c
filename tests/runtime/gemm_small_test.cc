// Compares products of small matrices with sums of fused multiply-adds in order, bit by bit, for
// many layouts and for sizes around those of blocks.
#include "tessera/runtime/products/gemm_small.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::gemm_small_test {

using namespace runtime;

namespace {

struct Layout {
  bool a_turned, b_turned;
};

bool has_code() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

template <class T>
std::vector<T> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<T> normal;
  std::vector<T> out(static_cast<size_t>(count));
  for (T& x : out) x = normal(random);
  return out;
}

// Computes one product, and checks it if the function computed it. The columns of c beyond the
// result must not change. Returns whether it was computed.
template <class T>
bool check_product(int64_t m, int64_t n, int64_t k, Layout layout, int64_t beyond) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  const int64_t ldc = n + beyond;
  const std::vector<T> a = numbers<T>(m * k, random), b = numbers<T>(k * n, random);
  std::vector<T> c = numbers<T>(m * ldc, random), want = c;
  const MatrixRef a_ref{reinterpret_cast<const std::byte*>(a.data()), layout.a_turned ? 1 : k,
                        layout.a_turned ? m : 1},
      b_ref{reinterpret_cast<const std::byte*>(b.data()), layout.b_turned ? 1 : n,
            layout.b_turned ? k : 1};
  const bool computed = gemm_small<T>(m, n, k, a_ref, b_ref, c.data(), ldc);
  if (computed)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        T sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum = std::fma(a[static_cast<size_t>(i * a_ref.row_stride + p * a_ref.col_stride)],
                         b[static_cast<size_t>(p * b_ref.row_stride + j * b_ref.col_stride)], sum);
        want[static_cast<size_t>(i * ldc + j)] = sum;
      }
  EXPECT_TRUE(c == want) << m << "x" << n << "x" << k << " of " << 8 * sizeof(T) << " bits, "
                         << layout.a_turned << layout.b_turned << (computed ? "" : ", left out");
  return computed;
}

template <class T>
void check_products() {
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (int64_t m : {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 24})
        for (int64_t n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 17, 23, 24, 31, 32, 33, 40})
          for (int64_t k : {1, 2, 16, 33, 64, 65})
            for (int64_t beyond : {0, 3}) {
              const bool computed = check_product<T>(m, n, k, {a_turned, b_turned}, beyond);
              // The smallest ones must not be left out.
              if (n >= 4 && m >= 8 && k <= 64 && m * n * k <= 4096) {
                EXPECT_EQ(computed, has_code()) << m << "x" << n << "x" << k;
              }
            }
}

TEST(GemmSmall, Float32) { check_products<float>(); }
TEST(GemmSmall, Float64) { check_products<double>(); }

TEST(GemmSmall, LeavesLargeProductsToALibrary) {
  EXPECT_FALSE(check_product<float>(64, 64, 64, {}, 0));
  EXPECT_FALSE(check_product<double>(32, 32, 32, {}, 0));
  EXPECT_FALSE(check_product<float>(8, 8, 65, {}, 0));
}

}  // namespace
}  // namespace tessera::gemm_small_test
