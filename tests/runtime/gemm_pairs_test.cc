// Compares products of 8- and 16-bit integers with plain loops, for all types, many layouts, and
// sizes around those of blocks.
#include "tessera/runtime/products/gemm_pairs.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tessera::gemm_pairs_test {

using namespace runtime;

namespace {

struct Layout {
  bool a_turned, b_turned, accumulate;
};

template <class T>
std::vector<T> numbers(std::mt19937_64& random, int64_t count) {
  std::vector<T> out(static_cast<size_t>(count));
  for (T& x : out) x = static_cast<T>(random());
  return out;
}

template <class T>
MatrixRef matrix(const std::vector<T>& x, int64_t row_stride, int64_t col_stride) {
  return {reinterpret_cast<const std::byte*>(x.data()), row_stride, col_stride};
}

// Checks one product. Elements have all values; the columns of c beyond the result must not change.
template <class In, class Out>
void expect_product(int64_t m, int64_t n, int64_t k, Layout layout, int64_t beyond) {
  std::mt19937_64 random(static_cast<uint64_t>(m * 131 + n * 17 + k));
  const int64_t ldc = n + beyond;
  const std::vector<In> a = numbers<In>(random, m * k), b = numbers<In>(random, k * n);
  std::vector<Out> c = numbers<Out>(random, m * ldc), want = c;
  const MatrixRef a_ref = matrix(a, layout.a_turned ? 1 : k, layout.a_turned ? m : 1),
                  b_ref = matrix(b, layout.b_turned ? 1 : n, layout.b_turned ? k : 1);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      Out& element = want[static_cast<size_t>(i * ldc + j)];
      int64_t sum = layout.accumulate ? element : 0;
      for (int64_t p = 0; p < k; ++p)
        sum += int64_t{a[static_cast<size_t>(i * a_ref.row_stride + p * a_ref.col_stride)]} *
               b[static_cast<size_t>(p * b_ref.row_stride + j * b_ref.col_stride)];
      element = static_cast<Out>(sum);
    }
  gemm_pairs<In>(m, n, k, a_ref, b_ref, c.data(), ldc, layout.accumulate);
  EXPECT_TRUE(c == want) << m << "x" << n << "x" << k << ", " << layout.a_turned << layout.b_turned
                         << layout.accumulate;
}

template <class In, class Out>
void expect_products() {
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (bool accumulate : {false, true}) {
        const Layout layout{a_turned, b_turned, accumulate};
        for (int64_t m : {1, 2, 5, 6, 7, 13})
          for (int64_t n : {1, 2, 8, 31, 32, 33, 64, 70})
            for (int64_t k : {0, 1, 2, 3, 511, 512, 513, 515})
              for (int64_t beyond : {0, 3}) expect_product<In, Out>(m, n, k, layout, beyond);
        expect_product<In, Out>(1, 5000, 17, layout, 0);
        expect_product<In, Out>(5000, 1, 17, layout, 0);
      }
}

TEST(GemmPairs, BytesInBytes) { expect_products<uint8_t, uint8_t>(); }
TEST(GemmPairs, UnsignedBytes) { expect_products<uint8_t, uint32_t>(); }
TEST(GemmPairs, SignedBytes) { expect_products<int8_t, uint32_t>(); }
TEST(GemmPairs, Bits16) { expect_products<int16_t, uint32_t>(); }

// The only pair whose sum does not fit into 32 bits with a sign.
TEST(GemmPairs, LeastNumbers) {
  const std::vector<int16_t> a(20 * 6, std::numeric_limits<int16_t>::min()), b(6 * 33, a[0]);
  std::vector<uint32_t> c(20 * 33);
  gemm_pairs<int16_t>(20, 33, 6, matrix(a, 6, 1), matrix(b, 33, 1), c.data(), 33, false);
  for (uint32_t element : c) EXPECT_EQ(element, uint32_t{6} << 30);
}

// The elements of a vector may be apart: it is a column of a matrix, or every third number here.
TEST(GemmPairs, VectorWithAStride) {
  constexpr int64_t n = 37, k = 21, stride = 3;
  std::mt19937_64 random(5);
  const std::vector<int8_t> x = numbers<int8_t>(random, k * stride),
                            b = numbers<int8_t>(random, k * n);
  for (bool turned : {false, true}) {
    std::vector<uint32_t> c(n), want(n);
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j)
        want[j] += static_cast<uint32_t>(x[p * stride] * b[turned ? p + j * k : p * n + j]);
    gemm_pairs<int8_t>(1, n, k, matrix(x, 1, stride), turned ? matrix(b, 1, k) : matrix(b, n, 1),
                       c.data(), n, false);
    EXPECT_TRUE(c == want) << turned;
  }
}

// gemm() has a result of int32 for operands of int8, and multiplies signed bytes as unsigned ones.
TEST(GemmPairs, ThroughGemm) {
  std::mt19937_64 random(7);
  const int64_t m = 19, n = 40, k = 30;
  const std::vector<int8_t> a = numbers<int8_t>(random, m * k), b = numbers<int8_t>(random, k * n);
  std::vector<int32_t> wide(m * n);
  std::vector<int8_t> narrow(m * n);
  gemm({int8, int32}, m, n, k, matrix(a, k, 1), matrix(b, n, 1),
       reinterpret_cast<std::byte*>(wide.data()), n, false);
  gemm({int8, int8}, m, n, k, matrix(a, k, 1), matrix(b, n, 1),
       reinterpret_cast<std::byte*>(narrow.data()), n, false);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      int32_t sum = 0;
      for (int64_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
      EXPECT_EQ(wide[i * n + j], sum);
      EXPECT_EQ(narrow[i * n + j], static_cast<int8_t>(sum));
    }
}

}  // namespace
}  // namespace tessera::gemm_pairs_test
