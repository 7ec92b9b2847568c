// Compares products in panels with sums of fused multiply-adds in order, bit by bit, for many
// layouts and for sizes around those of blocks and panels.
#include "tessera/runtime/products/gemm_panels.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::gemm_panels_test {

using namespace runtime;

namespace {

bool has_code() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl");
#else
  return false;
#endif
}

std::vector<float> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> out(static_cast<size_t>(count));
  for (float& x : out) x = normal(random);
  return out;
}

struct Layout {
  bool a_turned = false, b_turned = false;
  int64_t beyond = 0;  // elements between the rows of the operands and of the result
};

// Computes one product, and checks it if the function computed it. The elements of c beyond the
// result must not change. Returns whether it was computed.
bool check_product(int64_t m, int64_t n, int64_t k, Layout layout) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  const int64_t a_ld = (layout.a_turned ? m : k) + layout.beyond,
                b_ld = (layout.b_turned ? k : n) + layout.beyond, ldc = n + layout.beyond;
  // No more elements than there are: a read beyond them is found by the address sanitizer.
  const std::vector<float> a = numbers((layout.a_turned ? k : m) * a_ld - layout.beyond, random),
                           b = numbers((layout.b_turned ? n : k) * b_ld - layout.beyond, random);
  std::vector<float> c = numbers(m * ldc, random), want = c;
  const MatrixRef a_ref{reinterpret_cast<const std::byte*>(a.data()), layout.a_turned ? 1 : a_ld,
                        layout.a_turned ? a_ld : 1},
      b_ref{reinterpret_cast<const std::byte*>(b.data()), layout.b_turned ? 1 : b_ld,
            layout.b_turned ? b_ld : 1};
  const bool computed = gemm_panels(m, n, k, a_ref, b_ref, c.data(), ldc);
  if (computed)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (int64_t p = 0; p < k; ++p)
          sum = std::fma(a[static_cast<size_t>(i * a_ref.row_stride + p * a_ref.col_stride)],
                         b[static_cast<size_t>(p * b_ref.row_stride + j * b_ref.col_stride)], sum);
        want[static_cast<size_t>(i * ldc + j)] = sum;
      }
  EXPECT_TRUE(c == want) << m << "x" << n << "x" << k << ", " << layout.a_turned << layout.b_turned
                         << (computed ? "" : ", left out");
  return computed;
}

TEST(GemmPanels, BlocksAndPanelsMakeTheWhole) {
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (int64_t m : {8, 9, 15, 16, 17, 40})
        for (int64_t n : {16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65, 80})
          for (int64_t k : {1, 15, 16, 17, 33, 64})
            for (int64_t beyond : {0, 3})
              EXPECT_EQ(check_product(m, n, k, {a_turned, b_turned, beyond}), has_code())
                  << m << "x" << n << "x" << k;
}

TEST(GemmPanels, RowsFarApartAreCopied) {
  for (bool a_turned : {false, true})
    for (bool b_turned : {false, true})
      for (int64_t n : {32, 70})
        EXPECT_EQ(check_product(64, n, 20, {a_turned, b_turned, 1000}), has_code());
}

TEST(GemmPanels, ComputesProductsOfSmallTransformers) {
  EXPECT_EQ(check_product(128, 64, 128, {}), has_code());
  EXPECT_EQ(check_product(128, 32, 512, {}), has_code());
  EXPECT_EQ(check_product(64, 64, 32, {.b_turned = true}), has_code());
}

TEST(GemmPanels, LeavesOthersToALibrary) {
  EXPECT_FALSE(check_product(7, 64, 64, {}));
  EXPECT_FALSE(check_product(64, 15, 64, {}));
  EXPECT_FALSE(check_product(16, 16, 1025, {}));
  EXPECT_FALSE(check_product(256, 256, 65, {}));
  EXPECT_FALSE(check_product(64, 129, 15, {}));
  EXPECT_FALSE(check_product(15, 32, 65, {.b_turned = true}));
  EXPECT_FALSE(check_product(63, 65, 20, {.beyond = 1000}));
}

}  // namespace
}  // namespace tessera::gemm_panels_test
