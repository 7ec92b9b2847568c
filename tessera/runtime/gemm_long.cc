#include "tessera/runtime/gemm_long.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__GNUC__) && !defined(__clang__)
// In the compiler's own header of intrinsics (GCC's bug 105593).
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif

#include <algorithm>

#include "tessera/base/shape.h"
#include "tessera/runtime/gemm_avx512.h"

namespace tessera::runtime {
namespace {

#if defined(__x86_64__)

#define TESSERA_AVX512_LONG [[gnu::target("avx512f,avx512vl,fma,prefer-vector-width=512")]]

constexpr int kBlock = 4;  // 4 x 4 sums and four columns are in registers
constexpr int64_t kLanes = 16;

// The operands of a block: rows of a, `a_row` apart, and columns of b, `b_column` apart.
struct LongRows {
  const float *a, *b;
  int64_t a_row, b_column;
};

// Adds the products of elements [p, p + 16), or of the lanes among them.
TESSERA_AVX512_LONG [[gnu::always_inline]] inline void add_long(const LongRows& rows, int64_t p,
                                                                __mmask16 lanes,
                                                                __m512 (&sums)[kBlock][kBlock]) {
  __m512 y[kBlock];
#pragma GCC unroll 4
  for (int j = 0; j < kBlock; ++j)
    y[j] = _mm512_maskz_loadu_ps(lanes, rows.b + j * rows.b_column + p);
#pragma GCC unroll 4
  for (int i = 0; i < kBlock; ++i) {
    const __m512 x = _mm512_maskz_loadu_ps(lanes, rows.a + i * rows.a_row + p);
#pragma GCC unroll 4
    for (int j = 0; j < kBlock; ++j) sums[i][j] = _mm512_fmadd_ps(x, y[j], sums[i][j]);
  }
}

// Computes the results of four rows and four columns.
TESSERA_AVX512_LONG void long_block(int64_t k, LongRows rows, float* c, int64_t ldc) {
  __m512 sums[kBlock][kBlock] = {};
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) add_long(rows, p, 0xffff, sums);
  if (p < k) add_long(rows, p, static_cast<__mmask16>((1U << (k - p)) - 1), sums);
#pragma GCC unroll 4
  for (int i = 0; i < kBlock; ++i)
#pragma GCC unroll 4
    for (int j = 0; j < kBlock; ++j) c[i * ldc + j] = _mm512_reduce_add_ps(sums[i][j]);
}

// Returns whether a library, or gemm_panels, takes longer. A library takes three to six times as
// long if the columns of b compete for the same lines of the cache.
bool is_faster(int64_t m, int64_t n, int64_t k, int64_t b_column, bool symmetric) {
  constexpr int64_t kFewColumns = 16, kLeastTerms = 256, kLeastTermsOfPanels = 1025;
  constexpr int64_t kMostRows = 64, kMostRowsOfSlow = 128, kMostRowsOfFew = 1024;
  constexpr int64_t kAliasing = 4096;  // bytes
  const bool few = n < kFewColumns, slow = symmetric || b_column * 4 % kAliasing == 0;
  const int64_t computed = ceil_div(m, kBlock) * ceil_div(n, kBlock) * kBlock * kBlock;
  return std::min(m, n) >= kBlock && k >= (few ? kLeastTerms : kLeastTermsOfPanels) &&
         std::max(m, n) <= (few    ? kMostRowsOfFew
                            : slow ? kMostRowsOfSlow
                                   : kMostRows) &&
         4 * computed <= 5 * m * n;
}

#endif

}  // namespace

bool gemm_long(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc) {
#if defined(__x86_64__)
  if (!cpu_has_avx512() || a.col_stride != 1 || b.row_stride != 1) return false;
  const auto *pa = reinterpret_cast<const float*>(a.data),
             *pb = reinterpret_cast<const float*>(b.data);
  const bool symmetric = pa == pb && m == n && a.row_stride == b.col_stride;
  if (!is_faster(m, n, k, b.col_stride, symmetric)) return false;
  // The last block overlaps the one before it if its rows are fewer: its elements get the same bits
  // again.
  for (int64_t row = 0; row < m; row += kBlock) {
    const int64_t i = std::min(row, m - kBlock);
    for (int64_t column = symmetric ? row : 0; column < n; column += kBlock) {
      const int64_t j = std::min(column, n - kBlock);
      long_block(k, {pa + i * a.row_stride, pb + j * b.col_stride, a.row_stride, b.col_stride},
                 c + i * ldc + j, ldc);
      for (int64_t r = i; symmetric && r < i + kBlock; ++r)
        for (int64_t s = j; s < j + kBlock; ++s) c[s * ldc + r] = c[r * ldc + s];
    }
  }
  return true;
#else
  static_cast<void>(m + n + k + ldc), static_cast<void>(a.data), static_cast<void>(b.data);
  static_cast<void>(c);
  return false;
#endif
}

}  // namespace tessera::runtime
