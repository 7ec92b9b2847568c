// Compares products of integers with plain loops, for all types, many layouts, and sizes around
// those of blocks.
#include "tessera/runtime/products/gemm_integers.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <vector>

namespace tessera::gemm_integers_test {

using namespace runtime;

namespace {

struct Layout {
  bool a_turned, b_turned, accumulate;
};

// Checks one product. Elements have all values, so that sums wrap; the columns of c beyond the
// result must not change.
template <class T>
void expect_product(int64_t m, int64_t n, int64_t k, Layout layout, int64_t beyond) {
  std::mt19937_64 random(static_cast<uint64_t>(m * 131 + n * 17 + k));
  const auto numbers = [&](int64_t count) {
    std::vector<T> out(static_cast<size_t>(count));
    for (T& x : out) x = static_cast<T>(random());
    return out;
  };
  const int64_t ldc = n + beyond;
  const std::vector<T> a = numbers(m * k), b = numbers(k * n);
  std::vector<T> c = numbers(m * ldc), want = c;
  const MatrixRef a_ref{reinterpret_cast<const std::byte*>(a.data()), layout.a_turned ? 1 : k,
                        layout.a_turned ? m : 1},
      b_ref{reinterpret_cast<const std::byte*>(b.data()), layout.b_turned ? 1 : n,
            layout.b_turned ? k : 1};
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& element = want[static_cast<size_t>(i * ldc + j)];
      uint64_t sum = layout.accumulate ? element : 0;
      for (int64_t p = 0; p < k; ++p)
        sum += uint64_t{a[static_cast<size_t>(i * a_ref.row_stride + p * a_ref.col_stride)]} *
               b[static_cast<size_t>(p * b_ref.row_stride + j * b_ref.col_stride)];
      element = static_cast<T>(sum);
    }
  gemm_integers<T>(m, n, k, a_ref, b_ref, c.data(), ldc, layout.accumulate);
  EXPECT_TRUE(c == want) << m << "x" << n << "x" << k << " of " << 8 * sizeof(T) << " bits, "
                         << layout.a_turned << layout.b_turned << layout.accumulate;
}

template <class T>
void expect_products() {
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (bool accumulate : {false, true}) {
        const Layout layout{a_turned, b_turned, accumulate};
        for (int64_t m : {1, 2, 5, 6, 7, 13})
          for (int64_t n : {1, 2, 8, 31, 32, 33, 64, 70})
            for (int64_t k : {0, 1, 3, 255, 256, 257})
              for (int64_t beyond : {0, 3}) expect_product<T>(m, n, k, layout, beyond);
        expect_product<T>(1, 5000, 9, layout, 0);
        expect_product<T>(5000, 1, 9, layout, 0);
      }
}

TEST(GemmIntegers, Bits16) { expect_products<uint16_t>(); }
TEST(GemmIntegers, Bits32) { expect_products<uint32_t>(); }
TEST(GemmIntegers, Bits64) { expect_products<uint64_t>(); }

// The elements of a vector may be apart: it is a column of a matrix, or every third number here.
TEST(GemmIntegers, VectorWithAStride) {
  constexpr int64_t n = 37, k = 21, stride = 3;
  std::vector<uint32_t> x(k * stride), b(k * n), c(n), want(n);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint32_t>(i * i + 1);
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<uint32_t>(7 * i + 3);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < n; ++j) want[j] += x[p * stride] * b[p * n + j];
  gemm_integers<uint32_t>(1, n, k, {reinterpret_cast<const std::byte*>(x.data()), 1, stride},
                          {reinterpret_cast<const std::byte*>(b.data()), n, 1}, c.data(), n, false);
  EXPECT_TRUE(c == want);
}

// gemm() multiplies signed integers as unsigned ones.
TEST(GemmIntegers, SignedNumbersWrap) {
  constexpr int32_t kLeast = std::numeric_limits<int32_t>::min();
  const std::vector<int32_t> a(30 * 20, kLeast + 1), b(20 * 40, -3);
  std::vector<int32_t> c(30 * 40);
  gemm({int32, int32}, 30, 40, 20, {reinterpret_cast<const std::byte*>(a.data()), 20, 1},
       {reinterpret_cast<const std::byte*>(b.data()), 40, 1},
       reinterpret_cast<std::byte*>(c.data()), 40, false);
  const auto want = static_cast<int32_t>(20 * -3 * (int64_t{kLeast} + 1));
  for (int32_t element : c) EXPECT_EQ(element, want);
}

}  // namespace
}  // namespace tessera::gemm_integers_test
