#include "tessera/runtime/products/gemm_panels.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <utility>

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/products/gemm_avx512.h"

namespace tessera::runtime {
namespace {

#if defined(__x86_64__)

constexpr int64_t kLanes = 16;
constexpr int64_t kPanelColumns = 2 * kLanes, kBlockRows = 8;
// Rows of b that are so far apart, in elements, are copied for so many rows of a.
constexpr int64_t kFar = 768, kLeastRowsOfFar = 64;

// The product of `m` rows of a and a panel of b's columns: k rows of `vectors` vectors. Only the
// lanes `last` of the last vector are columns of b.
struct PanelProduct {
  int64_t m, k;
  const float *a, *b;
  int64_t a_row, a_column, b_row;
  float* c;
  int64_t ldc;
  __mmask16 last;
};

PanelProduct product_of(int64_t m, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
                        int64_t ldc) {
  return {.m = m,
          .k = k,
          .a = reinterpret_cast<const float*>(a.data),
          .b = reinterpret_cast<const float*>(b.data),
          .a_row = a.row_stride,
          .a_column = a.col_stride,
          .b_row = b.row_stride,
          .c = c,
          .ldc = ldc,
          .last = 0};
}

// Transposes 16 x 16 elements.
TESSERA_AVX512 [[gnu::always_inline]] inline void turn(__m512 (&x)[16]) {
  __m512 y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_ps(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_ps(x[i], x[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) {
    const __m512d from = _mm512_castps_pd(y[i / 4 * 4 + i / 2 % 2]),
                  next = _mm512_castps_pd(y[i / 4 * 4 + i / 2 % 2 + 2]);
    x[i] = _mm512_castpd_ps(i % 2 == 0 ? _mm512_unpacklo_pd(from, next)
                                       : _mm512_unpackhi_pd(from, next));
  }
  // Quarter l of x[4 q + c] is now column 4 l + c of rows 4 q to 4 q + 3.
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    y[c] = _mm512_shuffle_f32x4(x[c], x[c + 4], 0x88);
    y[c + 4] = _mm512_shuffle_f32x4(x[c], x[c + 4], 0xdd);
    y[c + 8] = _mm512_shuffle_f32x4(x[c + 8], x[c + 12], 0x88);
    y[c + 12] = _mm512_shuffle_f32x4(x[c + 8], x[c + 12], 0xdd);
  }
#pragma GCC unroll 4
  for (int c = 0; c < 4; ++c) {
    x[c] = _mm512_shuffle_f32x4(y[c], y[c + 8], 0x88);
    x[c + 4] = _mm512_shuffle_f32x4(y[c + 4], y[c + 12], 0x88);
    x[c + 8] = _mm512_shuffle_f32x4(y[c], y[c + 8], 0xdd);
    x[c + 12] = _mm512_shuffle_f32x4(y[c + 4], y[c + 12], 0xdd);
  }
}

__mmask16 first_lanes(int64_t count) {
  return static_cast<__mmask16>((uint32_t{1} << std::clamp<int64_t>(count, 0, kLanes)) - 1);
}

// Copies k rows of `width` columns, which are adjacent in b, to a panel.
template <int vectors>
TESSERA_AVX512 [[gnu::always_inline]] inline void copy_rows(int64_t k, const float* b,
                                                            int64_t b_row, __mmask16 last,
                                                            float* panel) {
  for (int64_t p = 0; p < k; ++p, b += b_row, panel += vectors * kLanes) {
#pragma GCC unroll 4
    for (int v = 0; v < vectors - 1; ++v)
      _mm512_store_ps(panel + v * kLanes, _mm512_loadu_ps(b + v * kLanes));
    _mm512_store_ps(panel + (vectors - 1) * kLanes,
                    _mm512_maskz_loadu_ps(last, b + (vectors - 1) * kLanes));
  }
}

// Copies `width` columns, which have adjacent elements in b, to a panel of k rows.
template <int vectors>
TESSERA_AVX512 [[gnu::always_inline]] inline void copy_columns(int64_t k, const float* b,
                                                               int64_t b_column, int64_t width,
                                                               float* panel) {
  for (int v = 0; v < vectors; ++v)
    for (int64_t p = 0; p < k; p += kLanes) {
      const __mmask16 rows = first_lanes(k - p);
      __m512 x[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) {
        const int64_t column = v * kLanes + i;
        x[i] = _mm512_maskz_loadu_ps(column < width ? rows : __mmask16{0},
                                     b + std::min(column, width - 1) * b_column + p);
      }
      turn(x);
      float* out = panel + p * vectors * kLanes + v * kLanes;
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        if (p + i < k) _mm512_store_ps(out + i * vectors * kLanes, x[i]);
    }
}

// Computes rows [row, row + rows) of the panel's columns, which stay in registers.
template <int vectors, int rows>
TESSERA_AVX512 [[gnu::always_inline]] inline void panel_block(const PanelProduct& t, int64_t row) {
  __m512 sums[rows][vectors] = {};
  const float *a = t.a + row * t.a_row, *b = t.b;
  for (int64_t p = 0; p < t.k; ++p, a += t.a_column, b += t.b_row) {
    __m512 y[vectors];
#pragma GCC unroll 8
    for (int v = 0; v < vectors - 1; ++v) y[v] = _mm512_loadu_ps(b + v * kLanes);
    y[vectors - 1] = _mm512_maskz_loadu_ps(t.last, b + (vectors - 1) * kLanes);
#pragma GCC unroll 16
    for (int i = 0; i < rows; ++i) {
      const __m512 x = _mm512_set1_ps(a[i * t.a_row]);
#pragma GCC unroll 8
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_fmadd_ps(x, y[v], sums[i][v]);
    }
  }
  float* c = t.c + row * t.ldc;
#pragma GCC unroll 16
  for (int i = 0; i < rows; ++i, c += t.ldc) {
#pragma GCC unroll 8
    for (int v = 0; v < vectors - 1; ++v) _mm512_storeu_ps(c + v * kLanes, sums[i][v]);
    _mm512_mask_storeu_ps(c + (vectors - 1) * kLanes, t.last, sums[i][vectors - 1]);
  }
}

// Computes columns [j, j + width) of the product. `panel` has memory for a copy of them.
template <int vectors>
TESSERA_AVX512 void panel_product(PanelProduct t, const MatrixRef& b, int64_t j, int64_t width,
                                  float* panel) {
  t.b += j * b.col_stride;
  t.last = first_lanes(width - (vectors - 1) * kLanes);
  t.c += j;
  const bool turned = b.col_stride != 1;
  if (turned || (b.row_stride > kFar && t.m >= kLeastRowsOfFar)) {
    turned ? copy_columns<vectors>(t.k, t.b, b.col_stride, width, panel)
           : copy_rows<vectors>(t.k, t.b, b.row_stride, t.last, panel);
    t.b = panel;
    t.b_row = vectors * kLanes;
  }
  // The last block overlaps the one before it if the number of rows is not a multiple of a block's:
  // its elements get the same bits again.
  for (int64_t row = 0; row < t.m; row += kBlockRows)
    panel_block<vectors, kBlockRows>(t, std::min(row, t.m - kBlockRows));
}

// Computes all columns of `rows` rows, beginning with `row`, and reads b as it is.
template <int rows, int vectors>
TESSERA_AVX512 void row_block(PanelProduct t, int64_t row, int64_t n) {
  t.last = first_lanes(kLanes);
  int64_t j = 0;
  for (; j + vectors * kLanes <= n; j += vectors * kLanes) {
    panel_block<vectors, rows>(t, row);
    t.b += vectors * kLanes;
    t.c += vectors * kLanes;
  }
  for (; j < n; j += kLanes) {
    t.last = first_lanes(n - j);
    panel_block<1, rows>(t, row);
    t.b += kLanes;
    t.c += kLanes;
  }
}

#endif

}  // namespace

bool fits_panels(int64_t m, int64_t n, int64_t k) {
#if defined(__x86_64__)
  constexpr int64_t kMostTerms = 1024, kMost = int64_t{1} << 22;
  // With few terms the library writes the result faster.
  constexpr int64_t kFewTerms = 16, kManyColumns = 128;
  return cpu_has_avx512() && m >= kBlockRows && n >= kLanes && k > 0 && k <= kMostTerms &&
         m * n * k <= kMost && (k >= kFewTerms || n <= kManyColumns);
#else
  static_cast<void>(m * n * k);
  return false;
#endif
}

bool has_gemm_rows() { return cpu_has_avx512(); }

void gemm_rows(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
               int64_t ldc) {
  TESSERA_CHECK(has_gemm_rows() && b.col_stride == 1, "columns {} apart", b.col_stride);
#if defined(__x86_64__)
  const PanelProduct product = product_of(m, k, a, b, c, ldc);
  int64_t row = 0;
  for (; row + 8 <= m; row += 8) row_block<8, 3>(product, row, n);
  if (m - row >= 4) row_block<4, 6>(product, std::exchange(row, row + 4), n);
  if (m - row >= 2) row_block<2, 8>(product, std::exchange(row, row + 2), n);
  if (m - row >= 1) row_block<1, 8>(product, row, n);
#endif
}

bool gemm_panels(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, float* c,
                 int64_t ldc) {
  // To transpose or copy more than this costs more than to multiply few rows by it.
  constexpr int64_t kLeastRowsOfTurned = 16, kMostTurned = 64, kMostFar = 64;
  if (!fits_panels(m, n, k)) return false;
#if defined(__x86_64__)
  if (b.col_stride != 1 ? m < kLeastRowsOfTurned && k > kMostTurned
                        : b.row_stride > kFar && m < kLeastRowsOfFar && n > kMostFar)
    return false;
  const Workspace<float> panel(k * (kPanelColumns + kLanes));
  const PanelProduct product = product_of(m, k, a, b, c, ldc);
  for (int64_t j = 0; j < n;) {
    // No panel of one vector after another panel: it would read rows of a for little work.
    const int64_t width = n - j <= kPanelColumns + kLanes ? n - j : kPanelColumns;
    switch ((width - 1) / kLanes) {
      case 0:
        panel_product<1>(product, b, j, width, panel.data());
        break;
      case 1:
        panel_product<2>(product, b, j, width, panel.data());
        break;
      default:
        panel_product<3>(product, b, j, width, panel.data());
        break;
    }
    j += width;
  }
#endif
  return true;
}

}  // namespace tessera::runtime
