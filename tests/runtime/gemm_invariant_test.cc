#include "tessera/runtime/products/gemm_invariant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace tessera::runtime::gemm_invariant_test {
namespace {

const std::byte* bytes(const void* p) { return static_cast<const std::byte*>(p); }

template <class T>
struct Matrices {
  std::vector<T> a, b;
  int64_t k;

  Matrices(int64_t m, int64_t n, int64_t k, uint64_t seed) : k(k) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    a.resize(static_cast<size_t>(m * k));
    b.resize(static_cast<size_t>(n * k));
    for (T& x : a) x = static_cast<T>(normal(random));
    for (T& x : b) x = static_cast<T>(normal(random));
  }
  // Returns the product of rows [i, i + m) and columns [j, j + n); the operands are row-major or
  // transposed.
  std::vector<T> product(int64_t i, int64_t m, int64_t j, int64_t n, bool ta, bool tb) const {
    std::vector<T> left(static_cast<size_t>(m * k)), right(static_cast<size_t>(n * k)),
        out(static_cast<size_t>(m * n));
    for (int64_t r = 0; r < m; ++r)
      for (int64_t l = 0; l < k; ++l)
        left[static_cast<size_t>(ta ? l * m + r : r * k + l)] =
            a[static_cast<size_t>((i + r) * k + l)];
    for (int64_t c = 0; c < n; ++c)
      for (int64_t l = 0; l < k; ++l)
        right[static_cast<size_t>(tb ? c * k + l : l * n + c)] =
            b[static_cast<size_t>((j + c) * k + l)];
    const DType dtype = std::is_same_v<T, float> ? float32 : float64;
    gemm_invariant({dtype, dtype}, m, n, k, {bytes(left.data()), ta ? 1 : k, ta ? m : 1},
                   {bytes(right.data()), tb ? 1 : n, tb ? k : 1},
                   reinterpret_cast<std::byte*>(out.data()), n, false);
    return out;
  }
};

template <class T>
void expect_same_bits_everywhere() {
  for (const int64_t k : {1, 3, 17, 64, 65, 300}) {
    const int64_t m = 131, n = 101;
    const Matrices<T> x(m, n, k, static_cast<uint64_t>(k));
    for (int layout = 0; layout < 4; ++layout) {
      const bool ta = layout % 2 == 1, tb = layout / 2 == 1;
      const std::vector<T> all = x.product(0, m, 0, n, ta, tb);
      for (const int64_t rows : {1, 2, 15, 16, 17, 47, 48, 49, 100})
        for (const int64_t columns : {1, 2, 16, 33, 96}) {
          const int64_t i = m - rows, j = n - columns;
          const std::vector<T> part = x.product(i, rows, j, columns, ta, tb);
          for (int64_t r = 0; r < rows; ++r)
            for (int64_t c = 0; c < columns; ++c)
              ASSERT_EQ(part[static_cast<size_t>(r * columns + c)],
                        all[static_cast<size_t>((i + r) * n + j + c)])
                  << rows << " x " << columns << " x " << k << ", layout " << layout;
        }
    }
  }
}

TEST(GemmInvariant, AnElementHasTheSameBitsInEveryProduct) {
  expect_same_bits_everywhere<float>();
  expect_same_bits_everywhere<double>();
}

TEST(GemmInvariant, BlocksOfTheLibraryAreAlikeOnThisCpu) {
  // Otherwise products would also be right, but slow.
  EXPECT_TRUE(blocks_are_alike(float32));
  EXPECT_TRUE(blocks_are_alike(float64));
}

TEST(GemmInvariant, IsTheProduct) {
  const int64_t m = 37, n = 21, k = 200;
  const Matrices<float> x(m, n, k, 1);
  const std::vector<float> got = x.product(0, m, 0, n, false, true);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (int64_t l = 0; l < k; ++l)
        sum += double{x.a[static_cast<size_t>(i * k + l)]} *
               double{x.b[static_cast<size_t>(j * k + l)]};
      EXPECT_NEAR(got[static_cast<size_t>(i * n + j)], sum, 1e-4);
    }
}

template <class T>
void expect_the_bits_of_the_whole_product() {
  const DType dtype = std::is_same_v<T, float> ? float32 : float64;
  for (const int64_t n : {1, 15, 48, 49, 100, 144})
    for (const int64_t k : {1, 64, 256, 300, 1024})
      for (const bool by_rows : {true, false}) {
        const Matrices<T> x(n, 1, k, static_cast<uint64_t>(n + k));
        std::vector<T> a(x.a.size()), whole(static_cast<size_t>(n * n), T{1}), half(whole);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t l = 0; l < k; ++l)
            a[static_cast<size_t>(by_rows ? i * k + l : l * n + i)] =
                x.a[static_cast<size_t>(i * k + l)];
        const MatrixRef left{bytes(a.data()), by_rows ? k : 1, by_rows ? 1 : n},
            right{left.data, left.col_stride, left.row_stride};
        gemm_invariant({dtype, dtype}, n, n, k, left, right,
                       reinterpret_cast<std::byte*>(whole.data()), n, true);
        gemm_invariant_symmetric({dtype, dtype}, n, k, left,
                                 reinterpret_cast<std::byte*>(half.data()), n, true);
        for (int64_t i = 0; i < n; ++i)
          for (int64_t j = i; j < n; ++j) {
            ASSERT_EQ(half[static_cast<size_t>(i * n + j)], whole[static_cast<size_t>(i * n + j)])
                << n << " x " << k << ", by rows " << by_rows;
            ASSERT_EQ(half[static_cast<size_t>(i * n + j)], whole[static_cast<size_t>(j * n + i)])
                << n << " x " << k << ", by rows " << by_rows;
          }
      }
}

TEST(GemmInvariant, AMatrixTimesItsTransposeHasTheSameBitsInHalfTheProduct) {
  expect_the_bits_of_the_whole_product<float>();
  expect_the_bits_of_the_whole_product<double>();
}

TEST(GemmInvariant, AddsToWhatThereIsAndConvertsNarrowElements) {
  const std::vector<float> a{1, 2, 3, 4}, b{1, 0, 0, 1};
  std::vector<double> c{10, 20, 30, 40};
  gemm_invariant({float32, float64}, 2, 2, 2, {bytes(a.data()), 2, 1}, {bytes(b.data()), 2, 1},
                 reinterpret_cast<std::byte*>(c.data()), 2, true);
  EXPECT_THAT(c, testing::ElementsAre(11, 22, 33, 44));
}

TEST(GemmInvariant, OfNothingIsZero) {
  std::vector<float> c{5, 5};
  gemm_invariant({float32, float32}, 1, 2, 0, {bytes(c.data()), 1, 1}, {bytes(c.data()), 2, 1},
                 reinterpret_cast<std::byte*>(c.data()), 2, false);
  EXPECT_THAT(c, testing::ElementsAre(0, 0));
}

}  // namespace
}  // namespace tessera::runtime::gemm_invariant_test
