// Compares products of float64 matrices by AVX-512 with sums in order, bit by bit, and with sums in
// long double, for many layouts and for sizes around those of blocks.
#include "tessera/runtime/products/gemm_avx512.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tessera/runtime/products/gemm_parts.h"

namespace tessera::gemm_avx512_test {

using namespace runtime;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

struct Layout {
  bool a_turned, b_turned, accumulate;
  int64_t beyond = 0;  // the elements between the rows (or columns) of each matrix
};
std::vector<Layout> layouts() {
  std::vector<Layout> out;
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (bool accumulate : {false, true})
        for (int64_t beyond : {0, 3}) out.push_back({a_turned, b_turned, accumulate, beyond});
  return out;
}

// The operands of a product, and what the result has before it.
struct Product {
  int64_t m, n, k;
  Layout layout;
  std::vector<double> a, b, c;

  Product(int64_t m, int64_t n, int64_t k, Layout layout) : m(m), n(n), k(k), layout(layout) {
    std::mt19937_64 random(static_cast<uint64_t>(m * 131 + n * 17 + k));
    const auto fill = [&](std::vector<double>& x, int64_t lines, int64_t length) {
      x.resize(static_cast<size_t>(lines * (length + layout.beyond)));
      for (double& element : x)
        element = static_cast<double>(static_cast<int64_t>(random())) * 0x1p-63;
    };
    layout.a_turned ? fill(a, k, m) : fill(a, m, k);
    layout.b_turned ? fill(b, n, k) : fill(b, k, n);
    fill(c, m, n);
  }
  MatrixRef ref(const std::vector<double>& x, bool turned, int64_t rows, int64_t columns) const {
    const int64_t line = (turned ? rows : columns) + layout.beyond;
    return {reinterpret_cast<const std::byte*>(x.data()), turned ? 1 : line, turned ? line : 1};
  }
  MatrixRef a_ref() const { return ref(a, layout.a_turned, m, k); }
  MatrixRef b_ref() const { return ref(b, layout.b_turned, k, n); }
  int64_t ldc() const { return n + layout.beyond; }
  double at(const std::vector<double>& x, const MatrixRef& r, int64_t i, int64_t j) const {
    return x[static_cast<size_t>(i * r.row_stride + j * r.col_stride)];
  }
  double a_at(int64_t i, int64_t p) const { return at(a, a_ref(), i, p); }
  double b_at(int64_t p, int64_t j) const { return at(b, b_ref(), p, j); }

  // Returns false if gemm_avx512() leaves the product to a library.
  bool compute(std::vector<double>& out) const {
    out = c;
    return gemm_avx512(m, n, k, a_ref(), b_ref(), out.data(), ldc(), layout.accumulate);
  }
  // Checks that a thousand elements are as exact as sums of k terms are, and that no element
  // between the rows has changed.
  void expect_right(const std::vector<double>& got) const {
    const int64_t step = m * n / 1000 + 1;
    int64_t count = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < ldc(); ++j) {
        if (j < n && count++ % step != 0) continue;
        const double element = got[static_cast<size_t>(i * ldc() + j)],
                     before = c[static_cast<size_t>(i * ldc() + j)];
        if (j >= n) {
          ASSERT_EQ(element, before) << i << " " << j;
          continue;
        }
        long double sum = layout.accumulate ? before : 0, size = std::abs(sum);
        for (int64_t p = 0; p < k; ++p) {
          const long double term = static_cast<long double>(a_at(i, p)) * b_at(p, j);
          sum += term;
          size += std::abs(term);
        }
        ASSERT_LE(std::abs(element - sum), 0x1p-53L * 16 * size) << i << " " << j;
      }
  }
};

std::string name(const Product& p) {
  return ::testing::PrintToString(std::vector<int64_t>{
      p.m, p.n, p.k, p.layout.a_turned, p.layout.b_turned, p.layout.accumulate, p.layout.beyond});
}

// Whole blocks, edges on every side, parts along every dimension, and distances of columns that
// compete for the same lines of the cache.
TEST(GemmAvx512, IsTheProduct) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  const int64_t sizes[][3] = {{128, 96, 128}, {101, 103, 257}, {9, 600, 300},  {600, 9, 300},
                              {4, 4, 70000},  {512, 40, 64},   {17, 271, 520}, {300, 70, 49},
                              {1024, 33, 30}, {130, 521, 16},  {700, 1500, 1}};
  for (const auto& [m, n, k] : sizes)
    for (const Layout& layout : layouts()) {
      const Product p(m, n, k, layout);
      SCOPED_TRACE(name(p));
      std::vector<double> got;
      ASSERT_TRUE(p.compute(got));
      p.expect_right(got);
    }
}

// What the processor has decides which of the two a user gets.
TEST(GemmAvx512, TheLibraryComputesTheSame) {
  const int64_t sizes[][3] = {{101, 103, 257}, {17, 271, 520}, {3, 40, 90}, {40, 3, 90}};
  for (const auto& [m, n, k] : sizes)
    for (const Layout& layout : layouts()) {
      const Product p(m, n, k, layout);
      SCOPED_TRACE(name(p));
      std::vector<double> got = p.c;
      gemm_blas(m, n, k, p.a_ref(), p.b_ref(), got.data(), p.ldc(), layout.accumulate);
      p.expect_right(got);
      got = p.c;
      gemm({float64, float64}, m, n, k, p.a_ref(), p.b_ref(),
           reinterpret_cast<std::byte*>(got.data()), p.ldc(), layout.accumulate);
      p.expect_right(got);
    }
}

// Sums of up to 256 terms are one part.
TEST(GemmAvx512, AddsInOrder) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  for (int64_t k : {70, 256})
    for (int64_t m = 4; m <= 25; ++m)
      for (int64_t n : {4, 7, 8, 15, 17, 24, 25, 31, 32, 33, 48, 53, 56, 57}) {
        const Product p(m, n, k, {false, true, false, 3});
        std::vector<double> got, want = p.c;
        ASSERT_TRUE(p.compute(got));
        for (int64_t i = 0; i < m; ++i)
          for (int64_t j = 0; j < n; ++j) {
            double sum = 0;
            for (int64_t q = 0; q < k; ++q) sum = std::fma(p.a_at(i, q), p.b_at(q, j), sum);
            want[static_cast<size_t>(i * p.ldc() + j)] = sum;
          }
        ASSERT_TRUE(got == want) << name(p);
      }
}

// However a product is divided, an element has the same bits.
TEST(GemmAvx512, AnElementHasTheSameBitsInEveryProduct) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  constexpr int64_t m = 290, n = 300, k = 700;
  for (const Layout& layout : layouts()) {
    const Product p(m, n, k, layout);
    std::vector<double> whole;
    ASSERT_TRUE(p.compute(whole));
    for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{33, 120}, {290, 7}, {5, 300}}) {
      const int64_t i0 = m - rows, j0 = n - columns;
      std::vector<double> part = p.c;
      ASSERT_TRUE(gemm_avx512(rows, columns, k, p.a_ref().shifted(i0, 0, sizeof(double)),
                              p.b_ref().shifted(0, j0, sizeof(double)),
                              part.data() + i0 * p.ldc() + j0, p.ldc(), layout.accumulate));
      for (int64_t i = i0; i < m; ++i)
        for (int64_t j = j0; j < n; ++j) {
          const auto at = static_cast<size_t>(i * p.ldc() + j);
          ASSERT_EQ(part[at], whole[at]) << name(p) << " " << i << " " << j;
        }
    }
  }
}

TEST(GemmAvx512, InfinitiesAndNaN) {
  if (!cpu_has_avx512()) GTEST_SKIP() << "no AVX-512 here";
  for (const Layout& layout : layouts()) {
    Product p(110, 117, 300, layout);
    const auto set = [&](std::vector<double>& x, const MatrixRef& r, int64_t i, int64_t j,
                         double value) {
      x[static_cast<size_t>(i * r.row_stride + j * r.col_stride)] = value;
    };
    for (double& x : p.a) x = std::abs(x) + 0.5;
    for (double& x : p.b) x = 1;
    set(p.a, p.a_ref(), 5, 299, kInf);
    set(p.a, p.a_ref(), 6, 1, -kInf);
    set(p.a, p.a_ref(), 109, 270, kNaN);
    for (int64_t i = 0; i < 110; ++i) set(p.a, p.a_ref(), i, 17, 0);
    set(p.b, p.b_ref(), 17, 116, kNaN);  // zero times NaN
    set(p.b, p.b_ref(), 17, 3, kInf);    // zero times infinity
    std::vector<double> got;
    ASSERT_TRUE(p.compute(got));
    for (int64_t i = 0; i < 110; ++i)
      for (int64_t j = 0; j < 117; ++j) {
        const double element = got[static_cast<size_t>(i * p.ldc() + j)];
        if (i == 109 || j == 116 || j == 3) {
          EXPECT_TRUE(std::isnan(element)) << i << " " << j;
        } else if (i == 5 || i == 6) {
          EXPECT_EQ(element, i == 5 ? kInf : -kInf) << j;
        } else {
          EXPECT_TRUE(std::isfinite(element)) << i << " " << j;
        }
      }
  }
}

TEST(GemmAvx512, LeavesSmallProductsAndVectorsToALibrary) {
  const int64_t sizes[][3] = {{1, 900, 900}, {900, 1, 900},   {3, 900, 900},
                              {900, 3, 900}, {100, 100, 100}, {500, 500, 0}};
  for (const auto& [m, n, k] : sizes) {
    const Product p(m, n, k, {});
    std::vector<double> got;
    EXPECT_FALSE(p.compute(got)) << name(p);
    EXPECT_TRUE(got == p.c) << name(p);
  }
  // OpenBLAS is slow for a small one with a transposed operand on the right.
  std::vector<double> got;
  EXPECT_EQ(Product(30, 30, 30, {false, true, false}).compute(got), cpu_has_avx512());
}

}  // namespace
}  // namespace tessera::gemm_avx512_test
