#include "tessera/runtime/products/gemm_integers.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"

namespace tessera::runtime {
namespace {

// A block of the result, kRows rows and two vectors of columns, stays in registers.
constexpr int64_t kRows = 6;
// The number of rows of b that are packed at a time, so that they stay in the first-level cache.
constexpr int64_t kDepth = 256;

// The operands and the result of one group of columns. b is packed as [k][two vectors].
template <class T>
struct Panel {
  int64_t m, k;
  const T* a;
  int64_t a_row, a_column;  // the distances of rows and columns in a
  const T* b;
  T* c;
  int64_t ldc, width;  // the distance of rows in c, and the number of columns
};

template <class T, int lanes, int rows>
[[gnu::always_inline]] inline void block(const Panel<T>& p, int64_t row) {
  typedef T Vector __attribute__((vector_size(sizeof(T) * lanes)));
  const Vector zero = {};
  Vector sums[rows][2] = {};
  const T *a = p.a + row * p.a_row, *b = p.b;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += 2 * lanes) {
    Vector y0, y1;
    std::memcpy(&y0, b, sizeof(y0));
    std::memcpy(&y1, b + lanes, sizeof(y1));
#pragma GCC unroll 6
    for (int64_t i = 0; i < rows; ++i) {
      const Vector x = a[i * p.a_row] - zero;
      sums[i][0] += x * y0;
      sums[i][1] += x * y1;
    }
  }
  for (int64_t i = 0; i < rows; ++i) {
    T* out = p.c + (row + i) * p.ldc;
    if (p.width == 2 * lanes) {
      Vector c0, c1;
      std::memcpy(&c0, out, sizeof(c0));
      std::memcpy(&c1, out + lanes, sizeof(c1));
      c0 += sums[i][0];
      c1 += sums[i][1];
      std::memcpy(out, &c0, sizeof(c0));
      std::memcpy(out + lanes, &c1, sizeof(c1));
    } else {
      T all[2 * lanes];
      std::memcpy(all, sums[i], sizeof(all));
      for (int64_t j = 0; j < p.width; ++j) out[j] = static_cast<T>(out[j] + all[j]);
    }
  }
}

template <class T, int lanes>
[[gnu::always_inline]] inline void panel(const Panel<T>& p) {
  int64_t row = 0;
  for (; row + kRows <= p.m; row += kRows) block<T, lanes, kRows>(p, row);
  for (; row + 2 <= p.m; row += 2) block<T, lanes, 2>(p, row);
  for (; row < p.m; ++row) block<T, lanes, 1>(p, row);
}

// The unsigned type in which products are computed. Two uint16_t would be multiplied as int, and an
// overflow of int is undefined.
template <class T>
using Wrapping = std::conditional_t<sizeof(T) < 4, uint32_t, T>;

// Returns the sum of x[i] y[i].
template <class T>
[[gnu::always_inline]] inline T product(const T* x, const T* y, int64_t k) {
  T sum = 0;
  for (int64_t i = 0; i < k; ++i) sum = static_cast<T>(sum + Wrapping<T>{x[i]} * y[i]);
  return sum;
}
// Adds factor x[i] to y[i].
template <class T>
[[gnu::always_inline]] inline void add_multiple(T factor, const T* x, T* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = static_cast<T>(y[i] + Wrapping<T>{factor} * x[i]);
}

// Adds factors[r] x[r * x_row + i] to y[i], for kTogether rows r. Several rows at a time keep more
// loads from memory in flight than one, and y is read and written less often.
constexpr int64_t kTogether = 8;
template <class T>
[[gnu::always_inline]] inline void add_multiples(const T* factors, const T* x, int64_t x_row,
                                                 T* __restrict y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T sum = y[i];
#pragma GCC unroll 8
    for (int64_t r = 0; r < kTogether; ++r)
      sum = static_cast<T>(sum + Wrapping<T>{factors[r]} * x[r * x_row + i]);
    y[i] = sum;
  }
}

// The functions that are compiled for each instruction set.
template <class T>
struct Code {
  int lanes;
  void (*panel)(const Panel<T>&);
  T (*product)(const T*, const T*, int64_t);
  void (*add_multiple)(T, const T*, T*, int64_t);
  void (*add_multiples)(const T*, const T*, int64_t, T*, int64_t);
};

#define TESSERA_INTEGER_CODE(name, bytes, attributes)                                            \
  template <class T>                                                                             \
  attributes void panel_##name(const Panel<T>& p) {                                              \
    panel<T, bytes / sizeof(T)>(p);                                                              \
  }                                                                                              \
  template <class T>                                                                             \
  attributes T product_##name(const T* x, const T* y, int64_t k) {                               \
    return product(x, y, k);                                                                     \
  }                                                                                              \
  template <class T>                                                                             \
  attributes void add_multiple_##name(T factor, const T* x, T* y, int64_t n) {                   \
    add_multiple(factor, x, y, n);                                                               \
  }                                                                                              \
  template <class T>                                                                             \
  attributes void add_multiples_##name(const T* f, const T* x, int64_t x_row, T* y, int64_t n) { \
    add_multiples(f, x, x_row, y, n);                                                            \
  }                                                                                              \
  template <class T>                                                                             \
  constexpr Code<T> code_##name = {bytes / sizeof(T), panel_##name<T>, product_##name<T>,        \
                                   add_multiple_##name<T>, add_multiples_##name<T>};

TESSERA_INTEGER_CODE(any, 16, )
#if defined(__x86_64__)
TESSERA_INTEGER_CODE(avx2, 32, [[gnu::target("avx2")]])
TESSERA_INTEGER_CODE(avx512, 64, TESSERA_IN_512_BITS("avx512f,avx512bw,avx512dq"))
#endif
#undef TESSERA_INTEGER_CODE

template <class T>
const Code<T>& code() {
#if defined(__x86_64__)
  static const bool avx512 =
                        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"),
                    avx2 = __builtin_cpu_supports("avx2");
  if (avx512) return code_avx512<T>;
  if (avx2) return code_avx2<T>;
#endif
  return code_any<T>;
}

// Computes c += x b for a vector x and a matrix b with contiguous rows or columns.
template <class T>
void vector_times_matrix(int64_t n, int64_t k, const T* x, int64_t x_stride, MatrixRef b, T* c) {
  const auto* pb = reinterpret_cast<const T*>(b.data);
  if (b.col_stride == 1) {
    constexpr int64_t kColumns = 4096;  // so many of the result stay in the first-level cache
    for (int64_t n0 = 0; n0 < n; n0 += kColumns) {
      const int64_t columns = std::min(kColumns, n - n0);
      int64_t p = 0;
      for (; p + kTogether <= k; p += kTogether) {
        T factors[kTogether];
        for (int64_t r = 0; r < kTogether; ++r) factors[r] = x[(p + r) * x_stride];
        code<T>().add_multiples(factors, pb + p * b.row_stride + n0, b.row_stride, c + n0, columns);
      }
      for (; p < k; ++p)
        code<T>().add_multiple(x[p * x_stride], pb + p * b.row_stride + n0, c + n0, columns);
    }
    return;
  }
  const Workspace<T> copy(x_stride == 1 ? 0 : k);
  if (x_stride != 1) {
    for (int64_t p = 0; p < k; ++p) copy.data()[p] = x[p * x_stride];
    x = copy.data();
  }
  for (int64_t j = 0; j < n; ++j)
    c[j] = static_cast<T>(c[j] + code<T>().product(x, pb + j * b.col_stride, k));
}

template <class T>
void add_product(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc) {
  const auto* pa = reinterpret_cast<const T*>(a.data);
  const auto* pb = reinterpret_cast<const T*>(b.data);
  const int64_t columns = 2 * code<T>().lanes;
  const Workspace<T> packed(std::min(k, kDepth) * columns);
  for (int64_t k0 = 0; k0 < k; k0 += kDepth) {
    const int64_t depth = std::min(kDepth, k - k0);
    for (int64_t n0 = 0; n0 < n; n0 += columns) {
      const int64_t width = std::min(columns, n - n0);
      const T* from = pb + k0 * b.row_stride + n0 * b.col_stride;
      if (width < columns) std::fill_n(packed.data(), depth * columns, T{});
      if (b.col_stride == 1) {
        for (int64_t p = 0; p < depth; ++p)
          std::copy_n(from + p * b.row_stride, width, packed.data() + p * columns);
      } else {
        for (int64_t j = 0; j < width; ++j)
          for (int64_t p = 0; p < depth; ++p)
            packed.data()[p * columns + j] = from[p * b.row_stride + j * b.col_stride];
      }
      code<T>().panel({.m = m,
                       .k = depth,
                       .a = pa + k0 * a.col_stride,
                       .a_row = a.row_stride,
                       .a_column = a.col_stride,
                       .b = packed.data(),
                       .c = c + n0,
                       .ldc = ldc,
                       .width = width});
    }
  }
}

}  // namespace

template <class T>
void gemm_integers(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
                   bool accumulate) {
  if (!accumulate)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T{});
  const auto has_lines = [](MatrixRef x) { return x.col_stride == 1 || x.row_stride == 1; };
  if (m == 1 && has_lines(b))
    return vector_times_matrix(n, k, reinterpret_cast<const T*>(a.data), a.col_stride, b, c);
  if (n == 1 && ldc == 1 && has_lines(a))
    return vector_times_matrix(m, k, reinterpret_cast<const T*>(b.data), b.row_stride,
                               {a.data, a.col_stride, a.row_stride}, c);
  add_product(m, n, k, a, b, c, ldc);
}

template void gemm_integers(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, uint16_t*, int64_t,
                            bool);
template void gemm_integers(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, uint32_t*, int64_t,
                            bool);
template void gemm_integers(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, uint64_t*, int64_t,
                            bool);

}  // namespace tessera::runtime
