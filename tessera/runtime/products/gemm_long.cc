#include "tessera/runtime/products/gemm_long.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "tessera/base/shape.h"
#include "tessera/runtime/products/gemm_avx512.h"

namespace tessera::runtime {
namespace {

#if defined(__x86_64__)

constexpr int64_t kTerms = 16;  // the terms in a vector
// The result is computed in squares of kSide rows, of which blocks of kBlock rows are in registers.
constexpr int64_t kSide = 16, kBlock = 4;
// The terms of a sum that are added before those of the next block: of the rows of two blocks, as
// many as stay in the first cache.
constexpr int64_t kSliceTerms = 1024;

// Shuffles have masks of all lanes because GCC 12 warns of the others' undefined operands.
constexpr __mmask16 kAll = 0xffff;
constexpr __mmask8 kAllPairs = 0xff;

// Rows [i, i + rows) of a and columns [j, j + columns) of b; `sums` has a vector for each element.
struct Square {
  const float *a, *b;
  int64_t a_row, b_column, rows, columns;
  float* sums;
};

using BlockRows = const float* const (&)[kBlock];

// Adds the products of 16 terms of each row, of those in `lanes`.
TESSERA_AVX512 [[gnu::always_inline]] inline void add_terms(BlockRows a, BlockRows b, int64_t p,
                                                            __mmask16 lanes,
                                                            __m512 (&sums)[kBlock][kBlock]) {
  __m512 x[kBlock];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kBlock; ++r) x[r] = _mm512_maskz_loadu_ps(lanes, a[r] + p);
#pragma GCC unroll 4
  for (int64_t q = 0; q < kBlock; ++q) {
    const __m512 y = _mm512_maskz_loadu_ps(lanes, b[q] + p);
#pragma GCC unroll 4
    for (int64_t r = 0; r < kBlock; ++r) sums[r][q] = _mm512_fmadd_ps(x[r], y, sums[r][q]);
  }
}

// Adds the products of the terms [begin, end) to the sums of a block. A row beyond the last one is
// computed from the last one again; nothing reads its sums.
TESSERA_AVX512 void add_block(const Square& s, int64_t i, int64_t j, int64_t begin, int64_t end) {
  const float *a[kBlock], *b[kBlock];
  __m512 sums[kBlock][kBlock];
#pragma GCC unroll 4
  for (int64_t r = 0; r < kBlock; ++r) {
    a[r] = s.a + std::min(i + r, s.rows - 1) * s.a_row;
    b[r] = s.b + std::min(j + r, s.columns - 1) * s.b_column;
  }
  float* const stored = s.sums + (i * kSide + j) * kTerms;
#pragma GCC unroll 4
  for (int64_t r = 0; r < kBlock; ++r)
#pragma GCC unroll 4
    for (int64_t q = 0; q < kBlock; ++q)
      sums[r][q] = _mm512_load_ps(stored + (r * kSide + q) * kTerms);
  int64_t p = begin;
  for (; p + kTerms <= end; p += kTerms) add_terms(a, b, p, kAll, sums);
  if (p < end) add_terms(a, b, p, static_cast<__mmask16>((uint32_t{1} << (end - p)) - 1), sums);
#pragma GCC unroll 4
  for (int64_t r = 0; r < kBlock; ++r)
#pragma GCC unroll 4
    for (int64_t q = 0; q < kBlock; ++q)
      _mm512_store_ps(stored + (r * kSide + q) * kTerms, sums[r][q]);
}

// Adds the quarters 0 and 1, and 2 and 3, of x, then of y.
TESSERA_AVX512 [[gnu::always_inline]] inline __m512 added_quarters(__m512 x, __m512 y) {
  return _mm512_add_ps(_mm512_maskz_shuffle_f32x4(kAll, x, y, 0x88),
                       _mm512_maskz_shuffle_f32x4(kAll, x, y, 0xdd));
}

// Returns the sums of the lanes of each of 16 vectors.
TESSERA_AVX512 __m512 lane_sums(const float* vectors) {
  __m512 x[kTerms];
#pragma GCC unroll 16
  for (int64_t i = 0; i < kTerms; ++i) x[i] = _mm512_load_ps(vectors + i * kTerms);
#pragma GCC unroll 8
  for (int64_t i = 0; i < kTerms / 2; ++i)
    x[i] = _mm512_add_ps(_mm512_maskz_unpacklo_ps(kAll, x[2 * i], x[2 * i + 1]),
                         _mm512_maskz_unpackhi_ps(kAll, x[2 * i], x[2 * i + 1]));
#pragma GCC unroll 4
  for (int64_t i = 0; i < kTerms / 4; ++i) {
    const __m512d even = _mm512_castps_pd(x[2 * i]), odd = _mm512_castps_pd(x[2 * i + 1]);
    x[i] = _mm512_add_ps(_mm512_castpd_ps(_mm512_maskz_unpacklo_pd(kAllPairs, even, odd)),
                         _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(kAllPairs, even, odd)));
  }
  // Quarter l of x[i] now has the sums of quarter l of vectors 4 i to 4 i + 3.
  return added_quarters(added_quarters(x[0], x[1]), added_quarters(x[2], x[3]));
}

TESSERA_AVX512 void store_square(const Square& s, float* c, int64_t ldc) {
  const auto columns = static_cast<__mmask16>((uint32_t{1} << s.columns) - 1);
  for (int64_t i = 0; i < s.rows; ++i)
    _mm512_mask_storeu_ps(c + i * ldc, columns, lane_sums(s.sums + i * kSide * kTerms));
}

void long_product(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
                  int64_t ldc) {
  const bool symmetric = a.data == b.data && a.row_stride == b.col_stride && m == n;
  alignas(64) float sums[kSide * kSide * kTerms];
  for (int64_t j = 0; j < n; j += kSide)
    for (int64_t i = 0; i < (symmetric ? j + 1 : m); i += kSide) {
      std::fill(std::begin(sums), std::end(sums), 0.0F);
      const Square square{.a = reinterpret_cast<const float*>(a.data) + i * a.row_stride,
                          .b = reinterpret_cast<const float*>(b.data) + j * b.col_stride,
                          .a_row = a.row_stride,
                          .b_column = b.col_stride,
                          .rows = std::min(kSide, m - i),
                          .columns = std::min(kSide, n - j),
                          .sums = sums};
      const bool halved = symmetric && i == j;
      for (int64_t p = 0; p < k; p += kSliceTerms)
        for (int64_t row = 0; row < square.rows; row += kBlock)
          for (int64_t column = halved ? row : 0; column < square.columns; column += kBlock)
            add_block(square, row, column, p, std::min(p + kSliceTerms, k));
      store_square(square, c + i * ldc + j, ldc);
    }
  for (int64_t i = 0; symmetric && i < n; ++i)
    for (int64_t j = 0; j < i; ++j) c[i * ldc + j] = c[j * ldc + i];
}

#endif

}  // namespace

bool gemm_long(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc) {
  // A library's copies cost less than the products if the sums are shorter or the rows are more. A
  // block of few rows wastes the time of those that it does not have.
  constexpr int64_t kFewRows = 16, kMostRows = 64, kLeastTerms = 512, kLeastTermsOfMany = 1024;
  const int64_t rows = std::min(m, n), computed = ceil_div(rows, kBlock) * kBlock;
  if (!cpu_has_avx512() || a.col_stride != 1 || b.row_stride != 1 || rows < kBlock ||
      rows > kMostRows || 4 * computed > 5 * rows ||
      k < (rows <= kFewRows ? kLeastTerms : kLeastTermsOfMany))
    return false;
#if defined(__x86_64__)
  long_product(m, n, k, a, b, c, ldc);
#else
  static_cast<void>(c + ldc);
#endif
  return true;
}

}  // namespace tessera::runtime
