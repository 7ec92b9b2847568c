// Compares products of small complex matrices with sums of fused multiply-adds in order, bit by
// bit, for many layouts and for sizes around those of blocks.
#include "tessera/runtime/products/gemm_complex.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace tessera::gemm_complex_test {

using namespace runtime;

namespace {

bool has_code() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
#else
  return false;
#endif
}

template <class T>
std::vector<std::complex<T>> numbers(int64_t count, std::mt19937& random) {
  std::normal_distribution<T> normal;
  std::vector<std::complex<T>> out;
  for (int64_t i = 0; i < count; ++i) {
    const T re = normal(random), im = normal(random);
    out.emplace_back(re, im);
  }
  return out;
}

// Checks one product. The columns of c beyond the result must not change.
template <class T>
void check(int64_t m, int64_t n, int64_t k, bool a_turned, bool b_turned) {
  std::mt19937 random(static_cast<unsigned>(m * 131 + n * 17 + k));
  const int64_t ldc = n + 3;
  const auto a = numbers<T>(m * k, random), b = numbers<T>(k * n, random);
  auto c = numbers<T>(m * ldc, random), want = c;
  const MatrixRef a_ref{reinterpret_cast<const std::byte*>(a.data()), a_turned ? 1 : k,
                        a_turned ? m : 1},
      b_ref{reinterpret_cast<const std::byte*>(b.data()), b_turned ? 1 : n, b_turned ? k : 1};
  ASSERT_TRUE(gemm_complex<T>(m, n, k, a_ref, b_ref, c.data(), ldc)) << m << " " << n << " " << k;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T re = 0, re_of_im = 0, im = 0, im_of_im = 0;
      for (int64_t p = 0; p < k; ++p) {
        const auto x = a[static_cast<size_t>(i * a_ref.row_stride + p * a_ref.col_stride)],
                   y = b[static_cast<size_t>(p * b_ref.row_stride + j * b_ref.col_stride)];
        re = std::fma(x.real(), y.real(), re);
        im = std::fma(x.real(), y.imag(), im);
        re_of_im = std::fma(x.imag(), y.imag(), re_of_im);
        im_of_im = std::fma(x.imag(), y.real(), im_of_im);
      }
      want[static_cast<size_t>(i * ldc + j)] = {re - re_of_im, im + im_of_im};
    }
  EXPECT_TRUE(c == want) << m << "x" << n << "x" << k << " of " << 8 * sizeof(T) << " bits, "
                         << a_turned << b_turned;
}

TEST(GemmComplex, EqualsSumsInOrder) {
  if (!has_code()) GTEST_SKIP() << "this CPU has no AVX2";
  for (int64_t m : {1, 2, 3, 4, 5, 8, 11})
    for (int64_t n : {2, 3, 4, 5, 7, 8, 9, 13, 16, 17})
      for (int64_t k : {1, 2, 8, 33})
        for (bool a_turned : {false, true})
          for (bool b_turned : {false, true}) {
            check<float>(m, n, k, a_turned, b_turned);
            check<double>(m, n, k, a_turned, b_turned);
          }
  check<double>(5, 1, 3, false, false);
}

TEST(GemmComplex, LeavesOtherSizesToALibrary) {
  const std::vector<std::complex<float>> x(4096);
  std::vector<std::complex<float>> c(4096, 7);
  const MatrixRef ref{reinterpret_cast<const std::byte*>(x.data()), 32, 1};
  EXPECT_FALSE(gemm_complex<float>(4, 1, 4, ref, ref, c.data(), 32));
  EXPECT_FALSE(gemm_complex<float>(2, 2, 65, ref, ref, c.data(), 32));
  EXPECT_FALSE(gemm_complex<float>(25, 24, 24, ref, ref, c.data(), 32));
  EXPECT_EQ(c[0], std::complex<float>(7));
}

}  // namespace
}  // namespace tessera::gemm_complex_test
