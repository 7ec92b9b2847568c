#include "tessera/runtime/products/gemm_pairs.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::runtime {
namespace {

// A block of the result, kRows rows and two vectors of columns, stays in registers.
constexpr int64_t kRows = 6;
// The number of pairs of rows of b that are packed at a time, so that they stay in the first-level
// cache.
constexpr int64_t kDepth = 256;

#define TESSERA_INLINE [[gnu::always_inline]] inline

// The operands and the result of one group of columns. a is packed as rows of pairs, b as
// [pair][column]. A pair is two 16-bit integers.
template <class Out>
struct Pairs {
  int64_t m, pairs;
  const uint32_t* a;
  const uint32_t* b;
  Out* c;
  int64_t ldc, width;  // the distance of rows in c, and the number of columns
};

// Adds the sums of a block, which are rows of 2 * lanes numbers, to the result.
template <int lanes, int rows, class Out>
TESSERA_INLINE void add_block(const Pairs<Out>& p, int64_t row, const uint32_t* sums) {
  for (int64_t i = 0; i < rows; ++i, sums += 2 * lanes) {
    Out* out = p.c + (row + i) * p.ldc;
    if (p.width == 2 * lanes) {
      for (int64_t j = 0; j < 2 * lanes; ++j) out[j] = static_cast<Out>(out[j] + sums[j]);
    } else {
      for (int64_t j = 0; j < p.width; ++j) out[j] = static_cast<Out>(out[j] + sums[j]);
    }
  }
}

#if !defined(__x86_64__)
// Vectors of 32-bit integers without instructions of any CPU.
struct Portable {
  typedef uint32_t Vector __attribute__((vector_size(16)));
  typedef int32_t Signed __attribute__((vector_size(16)));
};
inline Portable::Vector all_of(uint32_t x) { return Portable::Vector{} + x; }
inline Portable::Vector sums_of_products(Portable::Vector x, Portable::Vector y) {
  const auto low = [](Portable::Vector v) {
    return reinterpret_cast<Portable::Vector>(reinterpret_cast<Portable::Signed>(v << 16) >> 16);
  };
  const auto high = [](Portable::Vector v) {
    return reinterpret_cast<Portable::Vector>(reinterpret_cast<Portable::Signed>(v) >> 16);
  };
  return low(x) * low(y) + high(x) * high(y);
}
#endif

// Packs `lines` lines of `depth` elements each: line i is at from + i * line, its elements `step`
// apart. Pair k of line i becomes out[i * line_out + k * step_out]. An odd last element is paired
// with 0.
struct Packing {
  int64_t lines, depth, line, step, line_out, step_out;
};
template <class In>
TESSERA_INLINE uint32_t pair_of(In low, In high) {
  return static_cast<uint16_t>(low) | uint32_t{static_cast<uint16_t>(high)} << 16;
}
template <class In>
TESSERA_INLINE void pack_pairs(const Packing& p, const In* from, uint32_t* out) {
  const int64_t whole = p.depth / 2;
  if (p.step == 1) {
    for (int64_t i = 0; i < p.lines; ++i) {
      const In* line = from + i * p.line;
      uint32_t* to = out + i * p.line_out;
      if (p.step_out == 1) {
        // The pairs in memory are the elements one after the other.
        typedef uint16_t Half __attribute__((may_alias));
        Half* halves = reinterpret_cast<Half*>(to);
        for (int64_t k = 0; k < 2 * whole; ++k) halves[k] = static_cast<uint16_t>(line[k]);
      } else {
        for (int64_t k = 0; k < whole; ++k)
          to[k * p.step_out] = pair_of(line[2 * k], line[2 * k + 1]);
      }
      if (p.depth % 2) to[whole * p.step_out] = pair_of(line[2 * whole], In{0});
    }
    return;
  }
  for (int64_t k = 0; k < whole; ++k) {
    const In *low = from + 2 * k * p.step, *high = low + p.step;
    uint32_t* to = out + k * p.step_out;
    if (p.line == 1 && p.line_out == 1) {
      for (int64_t i = 0; i < p.lines; ++i) to[i] = pair_of(low[i], high[i]);
    } else {
      for (int64_t i = 0; i < p.lines; ++i)
        to[i * p.line_out] = pair_of(low[i * p.line], high[i * p.line]);
    }
  }
  if (p.depth % 2)
    for (int64_t i = 0; i < p.lines; ++i)
      out[i * p.line_out + whole * p.step_out] =
          pair_of(from[i * p.line + 2 * whole * p.step], In{0});
}

// Returns the sum of x[i] y[i].
template <class In, class Out>
TESSERA_INLINE Out pair_product(const In* x, const In* y, int64_t k) {
  int32_t sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum = static_cast<int32_t>(static_cast<uint32_t>(sum) +
                               static_cast<uint32_t>(int32_t{x[i]} * int32_t{y[i]}));
  return static_cast<Out>(sum);
}

// Adds factors[r] x[r * x_row + i] to y[i], for kTogether rows r: several rows at a time keep more
// loads from memory in flight than one, and y is read and written less often.
constexpr int64_t kTogether = 8;
template <class In, class Out>
TESSERA_INLINE void pair_multiples(const In* factors, const In* x, int64_t x_row, Out* __restrict y,
                                   int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    Out sum = y[i];
#pragma GCC unroll 8
    for (int64_t r = 0; r < kTogether; ++r)
      sum = static_cast<Out>(
          sum + static_cast<uint32_t>(int32_t{factors[r]} * int32_t{x[r * x_row + i]}));
    y[i] = sum;
  }
}

// The functions that are compiled for each instruction set.
template <class In, class Out>
struct PairCode {
  int64_t lanes;
  void (*panel)(const Pairs<Out>&);
  void (*pack)(const Packing&, const In*, uint32_t*);
  Out (*product)(const In*, const In*, int64_t);
  void (*multiples)(const In*, const In*, int64_t, Out*, int64_t);
};

// Vector holds 32-bit integers. all(x) has x in all lanes, products(x, y) the sums of the products
// of pairs, and sum(x, y) is x + y.
#define TESSERA_PAIR_CODE(name, attributes, Vector, all, products, sum)                  \
  template <int rows, class Out>                                                         \
  attributes void pair_block_##name(const Pairs<Out>& p, int64_t row) {                  \
    constexpr int kLanes = sizeof(Vector) / sizeof(uint32_t);                            \
    Vector sums[rows][2] = {};                                                           \
    const uint32_t *a = p.a + row * p.pairs, *b = p.b;                                   \
    for (int64_t k = 0; k < p.pairs; ++k, b += 2 * kLanes) {                             \
      Vector y0, y1;                                                                     \
      std::memcpy(&y0, b, sizeof(y0));                                                   \
      std::memcpy(&y1, b + kLanes, sizeof(y1));                                          \
      _Pragma("GCC unroll 6") for (int64_t i = 0; i < rows; ++i) {                       \
        const Vector x = all(a[i * p.pairs + k]);                                        \
        sums[i][0] = sum(sums[i][0], products(x, y0));                                   \
        sums[i][1] = sum(sums[i][1], products(x, y1));                                   \
      }                                                                                  \
    }                                                                                    \
    uint32_t stored[2 * kLanes * rows];                                                  \
    std::memcpy(stored, sums, sizeof(stored));                                           \
    add_block<kLanes, rows>(p, row, stored);                                             \
  }                                                                                      \
  template <class Out>                                                                   \
  attributes void pair_panel_##name(const Pairs<Out>& p) {                               \
    int64_t row = 0;                                                                     \
    for (; row + kRows <= p.m; row += kRows) pair_block_##name<kRows>(p, row);           \
    for (; row + 2 <= p.m; row += 2) pair_block_##name<2>(p, row);                       \
    for (; row < p.m; ++row) pair_block_##name<1>(p, row);                               \
  }                                                                                      \
  template <class In>                                                                    \
  attributes void pack_pairs_##name(const Packing& p, const In* from, uint32_t* out) {   \
    pack_pairs(p, from, out);                                                            \
  }                                                                                      \
  template <class In, class Out>                                                         \
  attributes Out pair_product_##name(const In* x, const In* y, int64_t k) {              \
    return pair_product<In, Out>(x, y, k);                                               \
  }                                                                                      \
  template <class In, class Out>                                                         \
  attributes void pair_multiples_##name(const In* f, const In* x, int64_t x_row, Out* y, \
                                        int64_t n) {                                     \
    pair_multiples(f, x, x_row, y, n);                                                   \
  }                                                                                      \
  template <class In, class Out>                                                         \
  constexpr PairCode<In, Out> pair_code_##name = {                                       \
      sizeof(Vector) / sizeof(uint32_t), pair_panel_##name<Out>, pack_pairs_##name<In>,  \
      pair_product_##name<In, Out>, pair_multiples_##name<In, Out>};

#if defined(__x86_64__)
TESSERA_PAIR_CODE(any, , __m128i, _mm_set1_epi32, _mm_madd_epi16, _mm_add_epi32)
TESSERA_PAIR_CODE(avx2, [[gnu::target("avx2")]], __m256i, _mm256_set1_epi32, _mm256_madd_epi16,
                  _mm256_add_epi32)
TESSERA_PAIR_CODE(avx512, TESSERA_IN_512_BITS("avx512f,avx512bw"), __m512i, _mm512_set1_epi32,
                  _mm512_madd_epi16, _mm512_add_epi32)
#else
TESSERA_PAIR_CODE(any, , Portable::Vector, all_of, sums_of_products, std::plus<>())
#endif
#undef TESSERA_PAIR_CODE

template <class In, class Out>
const PairCode<In, Out>& pair_code() {
#if defined(__x86_64__)
  static const bool avx512 = __builtin_cpu_supports("avx512bw"),
                    avx2 = __builtin_cpu_supports("avx2");
  if (avx512) return pair_code_avx512<In, Out>;
  if (avx2) return pair_code_avx2<In, Out>;
#endif
  return pair_code_any<In, Out>;
}

// Computes c += x b for a vector x and a matrix b with contiguous rows or columns.
template <class In, class Out>
void vector_by_pairs(int64_t n, int64_t k, const In* x, int64_t x_stride, const MatrixRef& b,
                     Out* c) {
  const auto* pb = reinterpret_cast<const In*>(b.data);
  const PairCode<In, Out>& code = pair_code<In, Out>();
  if (b.col_stride == 1) {
    constexpr int64_t kColumns = 4096;  // so many of the result stay in the first-level cache
    const Workspace<In> zeros(k % kTogether == 0 ? 0 : kTogether * std::min(n, kColumns));
    for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
      const int64_t columns = std::min(kColumns, n - n0);
      for (int64_t p = 0; p < k; p += kTogether) {
        const int64_t rows = std::min(kTogether, k - p);
        In factors[kTogether] = {};
        for (int64_t r = 0; r < rows; ++r) factors[r] = x[(p + r) * x_stride];
        const In* from = pb + p * b.row_stride + n0;
        int64_t row = b.row_stride;
        if (rows < kTogether) {  // the last rows, followed by zeros
          std::fill_n(zeros.data(), kTogether * columns, In{0});
          for (int64_t r = 0; r < rows; ++r)
            std::copy_n(from + r * b.row_stride, columns, zeros.data() + r * columns);
          from = zeros.data();
          row = columns;
        }
        code.multiples(factors, from, row, c + n0, columns);
      }
    }
    return;
  }
  const Workspace<In> copy(x_stride == 1 ? 0 : k);
  if (x_stride != 1) {
    for (int64_t p = 0; p < k; ++p) copy.data()[p] = x[p * x_stride];
    x = copy.data();
  }
  for (int64_t j = 0; j < n; ++j)
    c[j] = static_cast<Out>(c[j] + code.product(x, pb + j * b.col_stride, k));
}

template <class In, class Out>
void add_pairs(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, Out* c,
               int64_t ldc) {
  const auto* pa = reinterpret_cast<const In*>(a.data);
  const auto* pb = reinterpret_cast<const In*>(b.data);
  const PairCode<In, Out>& code = pair_code<In, Out>();
  const int64_t columns = 2 * code.lanes, most = std::min((k + 1) / 2, kDepth);
  const Workspace<uint32_t> packed(most * (columns + m));
  uint32_t *packed_b = packed.data(), *packed_a = packed_b + most * columns;
  for (int64_t k0 = 0; k0 < k; k0 += 2 * kDepth) {
    const int64_t depth = std::min(2 * kDepth, k - k0), pairs = (depth + 1) / 2;
    code.pack({m, depth, a.row_stride, a.col_stride, pairs, 1}, pa + k0 * a.col_stride, packed_a);
    for (int64_t n0 = 0; n0 < n; n0 += columns) {
      const int64_t width = std::min(columns, n - n0);
      if (width < columns) std::fill_n(packed_b, pairs * columns, 0);
      code.pack({width, depth, b.col_stride, b.row_stride, 1, columns},
                pb + k0 * b.row_stride + n0 * b.col_stride, packed_b);
      code.panel({m, pairs, packed_a, packed_b, c + n0, ldc, width});
    }
  }
}

}  // namespace

template <class In, class Out>
void gemm_pairs(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, Out* c,
                int64_t ldc, bool accumulate) {
  if (!accumulate)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, Out{});
  const auto has_lines = [](const MatrixRef& x) { return x.col_stride == 1 || x.row_stride == 1; };
  if (m == 1 && has_lines(b))
    return vector_by_pairs(n, k, reinterpret_cast<const In*>(a.data), a.col_stride, b, c);
  if (n == 1 && ldc == 1 && has_lines(a))
    return vector_by_pairs(m, k, reinterpret_cast<const In*>(b.data), b.row_stride,
                           {a.data, a.col_stride, a.row_stride}, c);
  add_pairs<In>(m, n, k, a, b, c, ldc);
}

#define TESSERA_PAIRS(In, Out)                                                                \
  template void gemm_pairs<In>(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&, \
                               Out*, int64_t, bool);
TESSERA_PAIRS(uint8_t, uint8_t)
TESSERA_PAIRS(uint8_t, uint32_t)
TESSERA_PAIRS(int8_t, uint32_t)
TESSERA_PAIRS(int16_t, uint32_t)
#undef TESSERA_PAIRS
#undef TESSERA_INLINE

}  // namespace tessera::runtime
