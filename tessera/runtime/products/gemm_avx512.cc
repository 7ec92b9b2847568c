#include "tessera/runtime/products/gemm_avx512.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>

#include "tessera/base/shape.h"
#include "tessera/base/workspace.h"

namespace tessera::runtime {

#if defined(__x86_64__)

namespace {

constexpr int64_t kLanes = 8;
// A block of the result stays in registers: 24 of the 32 are its sums.
constexpr int64_t kBlockRows = 8, kBlockVectors = 3, kBlockColumns = kBlockVectors * kLanes;
// How much of b, and of a if it is copied, is multiplied at a time: it stays in the second-level
// cache.
constexpr int64_t kDepth = 256, kWidth = 11 * kBlockColumns, kHeight = 16 * kBlockRows;

// Returns how many of the `rest` rows the next block has. A block of one or two rows would take as
// long as one of three.
int64_t block_rows(int64_t rest) {
  return rest > kBlockRows && rest < 2 * kBlockRows ? ceil_div(rest, 2)
                                                    : std::min(rest, kBlockRows);
}
// Returns how many of the `rest` columns the next block has. Blocks of one vector have fewer sums
// than the CPU can add at a time.
int64_t block_columns(int64_t rest) {
  constexpr int64_t kTwoVectors = 2 * kLanes;
  return rest > kBlockColumns && rest <= 2 * kTwoVectors ? kTwoVectors
                                                         : std::min(rest, kBlockColumns);
}

// The operands of one block of the result. Element (i, p) of a is at a[i * a_row + p * a_column];
// row p of b is at b + p * b_row.
struct Block {
  const double* a;
  int64_t a_row, a_column;
  const double* b;
  int64_t b_row;
  double* c;
  int64_t ldc, k;
};

[[gnu::always_inline]] TESSERA_AVX512 inline __m512d load(const double* from, bool whole,
                                                          __mmask8 lanes) {
  return whole ? _mm512_loadu_pd(from) : _mm512_maskz_loadu_pd(lanes, from);
}

// Computes a block of `rows` rows and `vectors` vectors of columns. If the last vector is not
// `whole`, the result has these lanes of it.
template <int rows, int vectors, bool whole>
[[gnu::always_inline]] TESSERA_AVX512 inline void compute_block(const Block& block, __mmask8 last,
                                                                bool accumulate) {
  const int64_t a_row = block.a_row, a_column = block.a_column, b_row = block.b_row;
  const double *a = block.a, *b = block.b;
  __m512d sums[rows][vectors];
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      sums[i][v] = _mm512_setzero_pd();
      __builtin_prefetch(block.c + i * block.ldc + v * kLanes, 1);
    }
  for (int64_t p = 0; p < block.k; ++p, a += a_column, b += b_row) {
    __m512d y[vectors];
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) y[v] = load(b + v * kLanes, whole || v < vectors - 1, last);
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const __m512d x = _mm512_set1_pd(a[i * a_row]);
#pragma GCC unroll 3
      for (int v = 0; v < vectors; ++v) sums[i][v] = _mm512_fmadd_pd(x, y[v], sums[i][v]);
    }
  }
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i)
#pragma GCC unroll 3
    for (int v = 0; v < vectors; ++v) {
      double* c = block.c + i * block.ldc + v * kLanes;
      const bool all = whole || v < vectors - 1;
      const __m512d sum = accumulate ? _mm512_add_pd(load(c, all, last), sums[i][v]) : sums[i][v];
      all ? _mm512_storeu_pd(c, sum) : _mm512_mask_storeu_pd(c, last, sum);
    }
}

using BlockCode = void (*)(const Block&, int64_t columns, bool accumulate);
template <int rows, bool whole>
[[gnu::always_inline]] TESSERA_AVX512 inline void compute_columns(const Block& block,
                                                                  int64_t columns,
                                                                  bool accumulate) {
  const int64_t vectors = ceil_div(columns, kLanes);
  const auto last = static_cast<__mmask8>(0xff >> (vectors * kLanes - columns));
  if (vectors == 3) return compute_block<rows, 3, whole>(block, last, accumulate);
  if (vectors == 2) return compute_block<rows, 2, whole>(block, last, accumulate);
  compute_block<rows, 1, whole>(block, last, accumulate);
}
template <int rows>
TESSERA_AVX512 void compute_rows(const Block& block, int64_t columns, bool accumulate) {
  if (columns % kLanes == 0) return compute_columns<rows, true>(block, columns, accumulate);
  compute_columns<rows, false>(block, columns, accumulate);
}
// The code for blocks of 1 to 8 rows.
constexpr BlockCode kBlockCode[kBlockRows] = {compute_rows<1>, compute_rows<2>, compute_rows<3>,
                                              compute_rows<4>, compute_rows<5>, compute_rows<6>,
                                              compute_rows<7>, compute_rows<8>};

// Writes the transpose of an 8 x 8 block, whose rows are `from_row` elements apart.
[[gnu::always_inline]] TESSERA_AVX512 inline void transpose_block(const double* from,
                                                                  int64_t from_row, double* to,
                                                                  int64_t to_row) {
  constexpr int kEven = 0x88, kOdd = 0xdd;  // lanes 0 and 2, or 1 and 3, of each operand
  __m512d pairs[2][4];                      // of columns 0, 2, 4, 6 and of 1, 3, 5, 7
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512d x = _mm512_loadu_pd(from + 2 * i * from_row),
                  y = _mm512_loadu_pd(from + (2 * i + 1) * from_row);
    pairs[0][i] = _mm512_unpacklo_pd(x, y);
    pairs[1][i] = _mm512_unpackhi_pd(x, y);
  }
#pragma GCC unroll 2
  for (int odd = 0; odd < 2; ++odd) {
    const __m512d *p = pairs[odd], even_low = _mm512_shuffle_f64x2(p[0], p[1], kEven),
                  even_high = _mm512_shuffle_f64x2(p[2], p[3], kEven),
                  odd_low = _mm512_shuffle_f64x2(p[0], p[1], kOdd),
                  odd_high = _mm512_shuffle_f64x2(p[2], p[3], kOdd);
    double* out = to + odd * to_row;
    _mm512_storeu_pd(out, _mm512_shuffle_f64x2(even_low, even_high, kEven));
    _mm512_storeu_pd(out + 4 * to_row, _mm512_shuffle_f64x2(even_low, even_high, kOdd));
    _mm512_storeu_pd(out + 2 * to_row, _mm512_shuffle_f64x2(odd_low, odd_high, kEven));
    _mm512_storeu_pd(out + 6 * to_row, _mm512_shuffle_f64x2(odd_low, odd_high, kOdd));
  }
}

// Copies a matrix of `depth` rows and at most `width` columns to rows of `width` elements. What
// columns beyond the matrix have is undefined.
template <int64_t width>
TESSERA_AVX512 void pack_panel(const MatrixRef& x, int64_t depth, int64_t columns, double* to) {
  const auto* from = reinterpret_cast<const double*>(x.data);
  if (x.col_stride == 1) {
    const int64_t vectors = columns / kLanes;
    const auto rest = static_cast<__mmask8>((1 << columns % kLanes) - 1);
    for (int64_t p = 0; p < depth; ++p, from += x.row_stride, to += width) {
      for (int64_t v = 0; v < vectors; ++v)
        _mm512_storeu_pd(to + v * kLanes, _mm512_loadu_pd(from + v * kLanes));
      if (rest) _mm512_storeu_pd(to + vectors * kLanes, load(from + vectors * kLanes, false, rest));
    }
    return;
  }
  for (int64_t first = 0; first < columns; first += kLanes, from += kLanes * x.col_stride) {
    const int64_t lanes = std::min(kLanes, columns - first);
    int64_t p = 0;
    if (lanes == kLanes)
      for (; p + kLanes <= depth; p += kLanes)
        transpose_block(from + p * x.row_stride, x.col_stride, to + p * width + first, width);
    for (; p < depth; ++p)
      for (int64_t i = 0; i < lanes; ++i)
        to[p * width + first + i] = from[p * x.row_stride + i * x.col_stride];
  }
}

// A part of an operand, in panels: the rows of a, or the columns of b, of one block. Lines are a
// block's rows or columns, and lie `line` apart; along k, elements lie `term` apart.
struct Panels {
  const double* data;
  int64_t line, term;
  int64_t panel;  // the distance of panels, if each is a copy; 0: they are next to each other
  const double* after(const double* at, int64_t lines) const {
    return at + (panel == 0 ? lines * line : panel);
  }
};

Panels in_place(const MatrixRef& x, int64_t line, int64_t term) {
  return {reinterpret_cast<const double*>(x.data), line, term, 0};
}
Panels packed_rows(const MatrixRef& a, int64_t m, int64_t depth, double* to) {
  const Panels out{to, 1, kBlockRows, depth * kBlockRows};
  for (int64_t i = 0, rows; i < m; i += rows, to += out.panel) {
    rows = block_rows(m - i);
    const MatrixRef panel = a.shifted(i, 0, sizeof(double));
    pack_panel<kBlockRows>({panel.data, panel.col_stride, panel.row_stride}, depth, rows, to);
  }
  return out;
}
Panels packed_columns(const MatrixRef& b, int64_t n, int64_t depth, double* to) {
  const Panels out{to, 1, kBlockColumns, depth * kBlockColumns};
  for (int64_t j = 0, columns; j < n; j += columns, to += out.panel) {
    columns = block_columns(n - j);
    pack_panel<kBlockColumns>(b.shifted(0, j, sizeof(double)), depth, columns, to);
  }
  return out;
}

// Computes c (+)= a b for parts of a and b.
void multiply_parts(int64_t m, int64_t n, int64_t depth, const Panels& a, const Panels& b,
                    double* c, int64_t ldc, bool accumulate) {
  Block block{.a_row = a.line, .a_column = a.term, .b_row = b.term, .ldc = ldc, .k = depth};
  block.a = a.data;
  for (int64_t i = 0, rows; i < m; i += rows, block.a = a.after(block.a, rows)) {
    rows = block_rows(m - i);
    block.b = b.data;
    block.c = c + i * ldc;
    for (int64_t j = 0, columns; j < n; j += columns, block.c += columns) {
      columns = block_columns(n - j);
      kBlockCode[rows - 1](block, columns, accumulate);
      block.b = b.after(block.b, columns);
    }
  }
}

// Returns whether a is copied first: columns at such distances compete for the same cache lines.
bool packs_a(int64_t n, const MatrixRef& a) {
  constexpr int64_t kCompeting = 512;
  return a.col_stride != 1 && a.col_stride % kCompeting == 0 && n > kBlockColumns;
}
// Returns whether b is copied first. Few rows and small products do not repay that.
bool packs_b(int64_t m, int64_t k, const MatrixRef& b) {
  constexpr int64_t kFewRows = 16, kMostRows = 256, kMostElements = 1 << 16;
  const bool small = m <= kMostRows && k * b.row_stride <= kMostElements;
  return b.col_stride != 1 || (m > kFewRows && !small);
}

// Returns whether OpenBLAS is faster. It has kernels for products of up to 100^3 multiplications
// that copy nothing; that for a . transpose(b) is slow.
bool is_for_library(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b) {
  constexpr int64_t kLeastSide = 4, kMost = 1'000'000;
  if (std::min(m, n) < kLeastSide || k < 1) return true;
  return m * n * k <= kMost && !(a.col_stride == 1 && b.col_stride != 1);
}

}  // namespace

bool cpu_has_avx512() {
  static const bool has = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
  return has;
}

bool gemm_avx512(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, double* c,
                 int64_t ldc, bool accumulate) {
  if (!cpu_has_avx512() || is_for_library(m, n, k, a, b)) return false;
  constexpr int64_t kItem = sizeof(double);
  const int64_t depth = ceil_div(ceil_div(k, ceil_div(k, kDepth)), kLanes) * kLanes,
                width = std::min(kWidth, ceil_div(n, kBlockColumns) * kBlockColumns),
                height = packs_a(n, a) ? std::min(kHeight, m) : m;
  const int64_t b_size = packs_b(m, k, b) ? depth * width : 0,
                a_size = packs_a(n, a) ? depth * ceil_div(height, kBlockRows) * kBlockRows : 0;
  const Workspace<double> packed(b_size + a_size);
  for (int64_t j0 = 0; j0 < n; j0 += width)
    for (int64_t k0 = 0; k0 < k; k0 += depth) {
      const int64_t columns = std::min(width, n - j0), terms = std::min(depth, k - k0);
      const MatrixRef right = b.shifted(k0, j0, kItem);
      const Panels y = b_size > 0 ? packed_columns(right, columns, terms, packed.data())
                                  : in_place(right, 1, right.row_stride);
      for (int64_t i0 = 0; i0 < m; i0 += height) {
        const int64_t rows = std::min(height, m - i0);
        const MatrixRef left = a.shifted(i0, k0, kItem);
        const Panels x = a_size > 0 ? packed_rows(left, rows, terms, packed.data() + b_size)
                                    : in_place(left, left.row_stride, left.col_stride);
        multiply_parts(rows, columns, terms, x, y, c + i0 * ldc + j0, ldc, accumulate || k0 > 0);
      }
    }
  return true;
}

#else

bool cpu_has_avx512() { return false; }
bool gemm_avx512(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&, double*, int64_t,
                 bool) {
  return false;
}

#endif

}  // namespace tessera::runtime
