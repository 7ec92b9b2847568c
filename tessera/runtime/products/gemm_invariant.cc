#include "tessera/runtime/products/gemm_invariant.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/base/format.h"
#include "tessera/base/shape.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/products/gemm_parts.h"

namespace tessera::runtime {
namespace {

// The rows and columns of a block. With these sizes, the libraries compute all elements of a block
// in the same order: oneDNN with AVX-512 does not in smaller blocks (products a b' of fewer than 16
// rows), OpenBLAS's kernels for Haswell and Zen have 16 rows, and its kernels for AVX-512 treat
// small float64 products differently.
template <class T>
constexpr int64_t kRows = std::is_same_v<T, float> ? 16 : 48;
template <class T>
constexpr int64_t kColumns = kRows<T>;

template <class T>
void library(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
             bool accumulate) {
  if constexpr (std::is_same_v<T, float>) {
    if (onednn_is_faster()) return gemm_onednn(m, n, k, a, b, c, ldc, accumulate);
  }
  gemm_blas(m, n, k, a, b, c, ldc, accumulate);
}

// Copies rows [from, end) of x, in the order of its storage, and zeros up to `rows` rows.
template <class T>
MatrixRef padded_rows(MatrixRef x, int64_t from, int64_t end, int64_t rows, int64_t columns,
                      T* to) {
  const auto* in = reinterpret_cast<const T*>(x.data);
  const MatrixRef out = x.col_stride == 1 ? MatrixRef{reinterpret_cast<std::byte*>(to), columns, 1}
                                          : MatrixRef{reinterpret_cast<std::byte*>(to), 1, rows};
  std::fill_n(to, rows * columns, T{});
  for (int64_t i = from; i < end; ++i)
    for (int64_t j = 0; j < columns; ++j)
      to[(i - from) * out.row_stride + j * out.col_stride] =
          in[i * x.row_stride + j * x.col_stride];
  return out;
}

MatrixRef transposed(MatrixRef x) { return {x.data, x.col_stride, x.row_stride}; }

// Adds m x n elements to c, or copies them.
template <class T>
void put(const T* from, int64_t from_ld, int64_t m, int64_t n, T* c, int64_t ldc, bool accumulate) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T& to = c[i * ldc + j];
      to = accumulate ? to + from[i * from_ld + j] : from[i * from_ld + j];
    }
}

// Computes the product for one slice of k, in whole blocks.
template <class T>
void blocks(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
            bool accumulate) {
  constexpr int64_t rows = kRows<T>, columns = kColumns<T>;
  const int64_t m0 = m - m % rows, n0 = n - n % columns;
  if (m0 > 0 && n0 > 0) library(m0, n0, k, a, b, c, ldc, accumulate);
  if (m0 == m && n0 == n) return;
  Workspace<T> edge_a(m0 < m ? rows * k : 0), edge_b(n0 < n ? columns * k : 0),
      edge_c(std::max(m0 * columns, rows * std::max(n0, columns)));
  MatrixRef last_rows, last_columns;
  if (n0 < n) {
    last_columns = transposed(padded_rows(transposed(b), n0, n, columns, k, edge_b.data()));
    if (m0 > 0) {
      library(m0, columns, k, a, last_columns, edge_c.data(), columns, false);
      put(edge_c.data(), columns, m0, n - n0, c + n0, ldc, accumulate);
    }
  }
  if (m0 == m) return;
  last_rows = padded_rows(a, m0, m, rows, k, edge_a.data());
  if (n0 > 0) {
    library(rows, n0, k, last_rows, b, edge_c.data(), n0, false);
    put(edge_c.data(), n0, m - m0, n0, c + m0 * ldc, ldc, accumulate);
  }
  if (n0 < n) {
    library(rows, columns, k, last_rows, last_columns, edge_c.data(), columns, false);
    put(edge_c.data(), columns, m - m0, n - n0, c + m0 * ldc + n0, ldc, accumulate);
  }
}

// Returns whether products of equal rows and equal columns have the same bits at all positions, in
// blocks and in matrices of several blocks.
template <class T>
bool check_blocks() {
  constexpr int64_t rows = kRows<T>, columns = kColumns<T>;
  const std::pair<int64_t, int64_t> shapes[] = {{1, 1}, {2, 3},  {7, 1}, {1, 11},
                                                {6, 5}, {20, 2}, {3, 21}};
  uint32_t random = 1;
  for (const int64_t k : {int64_t{5}, int64_t{64}, kLongestSlice})
    for (int layout = 0; layout < 4; ++layout) {
      std::vector<T> x(static_cast<size_t>(k)), y(x);
      for (std::vector<T>* v : {&x, &y})
        for (T& e : *v) {
          random = random * 1664525 + 1013904223;
          e = static_cast<T>(random >> 8) / T{1 << 23} - T{1};
        }
      std::optional<T> value;
      for (const auto& [p, q] : shapes) {
        const int64_t m = p * rows, n = q * columns;
        std::vector<T> a(static_cast<size_t>(m * k)), b(static_cast<size_t>(n * k)),
            c(static_cast<size_t>(m * n));
        const bool ta = layout % 2 == 1, tb = layout / 2 == 1;
        for (int64_t i = 0; i < m; ++i)
          for (int64_t l = 0; l < k; ++l)
            a[static_cast<size_t>(ta ? l * m + i : i * k + l)] = x[static_cast<size_t>(l)];
        for (int64_t j = 0; j < n; ++j)
          for (int64_t l = 0; l < k; ++l)
            b[static_cast<size_t>(tb ? j * k + l : l * n + j)] = y[static_cast<size_t>(l)];
        library<T>(m, n, k, {reinterpret_cast<const std::byte*>(a.data()), ta ? 1 : k, ta ? m : 1},
                   {reinterpret_cast<const std::byte*>(b.data()), tb ? 1 : n, tb ? k : 1}, c.data(),
                   n, false);
        if (!value) value = c[0];
        if (std::any_of(c.begin(), c.end(), [&](T e) { return e != *value; })) return false;
      }
    }
  return true;
}

template <class T>
bool alike() {
  static const bool checked = check_blocks<T>();
  return checked;
}

// Returns the length of the slices of k, such that all have about the same length: a short slice
// costs more than its share.
int64_t slice_length(int64_t k, int64_t longest) {
  constexpr int64_t kUnit = 16;
  return std::min(longest, ceil_div(ceil_div(k, ceil_div(k, longest)), kUnit) * kUnit);
}

// Calls fn(start, length, accumulate) for each slice of k; all slices after the first accumulate.
template <class F>
void over_slices(int64_t k, int64_t longest, bool accumulate, const F& fn) {
  if (k == 0) return fn(0, 0, accumulate);
  const int64_t slice = slice_length(k, longest);
  for (int64_t k0 = 0; k0 < k; k0 += slice) fn(k0, std::min(slice, k - k0), accumulate || k0 > 0);
}

template <class T>
void invariant(int64_t m, int64_t n, int64_t k, int64_t slice, MatrixRef a, MatrixRef b, T* c,
               int64_t ldc, bool accumulate) {
  if constexpr (std::is_floating_point_v<T>) {
    if (k > 0 && alike<T>())
      return over_slices(k, slice, accumulate, [&](int64_t k0, int64_t width, bool add) {
        blocks<T>(m, n, width, a.shifted(0, k0, sizeof(T)), b.shifted(k0, 0, sizeof(T)), c, ldc,
                  add);
      });
  }
  gemm_loops<T>(m, n, k, a, b, c, ldc, accumulate);
}

// Copies x to dense rows (or columns, if x is stored by columns) of another type.
template <class From, class To>
MatrixRef converted(MatrixRef x, int64_t rows, int64_t columns, To* to) {
  auto* data = reinterpret_cast<std::byte*>(to);
  if (x.col_stride == 1) {
    convert_rows<From>(x, rows, columns, to);
    return {data, columns, 1};
  }
  convert_rows<From>({x.data, x.col_stride, 1}, columns, rows, to);
  return {data, 1, rows};
}

template <class From, class To>
void invariant_of_narrow(int64_t m, int64_t n, int64_t k, int64_t slice, MatrixRef a, MatrixRef b,
                         To* c, int64_t ldc, bool accumulate) {
  Workspace<To> wide_a(m * std::min(k, slice)), wide_b(n * std::min(k, slice));
  over_slices(k, slice, accumulate, [&](int64_t k0, int64_t width, bool add) {
    invariant<To>(m, n, width, slice,
                  converted<From>(a.shifted(0, k0, sizeof(From)), m, width, wide_a.data()),
                  converted<From>(b.shifted(k0, 0, sizeof(From)), width, n, wide_b.data()), c, ldc,
                  add);
  });
}

// Copies each slice of a into rows (or columns) at distances that are not multiples of 4 KiB: rows
// at such distances compete for the same cache lines, and the library takes twice the time.
template <class From, class To>
void symmetric(int64_t n, int64_t k, MatrixRef a, To* c, int64_t ldc, bool accumulate) {
  constexpr int64_t kRowsAtOnce = 48, kPadding = 16;
  const bool by_rows = a.col_stride == 1;
  const int64_t longest = k == 0 ? 0 : slice_length(k, kLongestSlice);
  const Workspace<To> copy(by_rows ? n * (longest + kPadding) : longest * (n + kPadding));
  over_slices(k, kLongestSlice, accumulate, [&](int64_t k0, int64_t width, bool add) {
    const MatrixRef slice = a.shifted(0, k0, sizeof(From));
    const int64_t lines = by_rows ? n : width, length = by_rows ? width : n, ld = length + kPadding;
    for (int64_t i = 0; i < lines; ++i)
      convert_rows<From>(by_rows ? slice.shifted(i, 0, sizeof(From))
                                 : transposed(slice).shifted(i, 0, sizeof(From)),
                         1, length, copy.data() + i * ld);
    const auto* data = reinterpret_cast<const std::byte*>(copy.data());
    const MatrixRef x = by_rows ? MatrixRef{data, ld, 1} : MatrixRef{data, 1, ld};
    for (int64_t i = 0; i < n; i += kRowsAtOnce) {
      const MatrixRef rows = x.shifted(i, 0, sizeof(To));
      invariant<To>(std::min(kRowsAtOnce, n - i), n - i, width, width, rows, transposed(rows),
                    c + i * ldc + i, ldc, add);
    }
  });
}

}  // namespace

void gemm_invariant(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                    std::byte* c, int64_t ldc, bool accumulate, int64_t slice) {
  if (m == 0 || n == 0) return;
  visit_dtype(types.in, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.out, [&]<class To>(TypeTag<To>) {
      if constexpr (std::is_integral_v<To>) {
        gemm(types, m, n, k, a, b, c, ldc, accumulate);  // sums of integers are exact in any order
      } else if constexpr (std::is_same_v<From, To> && !kHalf<To>) {
        invariant<To>(m, n, k, slice, a, b, reinterpret_cast<To*>(c), ldc, accumulate);
      } else if constexpr (gemm_converts<From, To>) {
        invariant_of_narrow<From, To>(m, n, k, slice, a, b, reinterpret_cast<To*>(c), ldc,
                                      accumulate);
      } else {
        TESSERA_CHECK(false, "a product of {} giving {}", types.in, types.out);
      }
    });
  });
}

void gemm_invariant_symmetric(GemmTypes types, int64_t n, int64_t k, MatrixRef a, std::byte* c,
                              int64_t ldc, bool accumulate) {
  visit_dtype(types.in, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.out, [&]<class To>(TypeTag<To>) {
      if constexpr (std::is_floating_point_v<To> &&
                    (std::is_same_v<From, To> || gemm_converts<From, To>)) {
        symmetric<From, To>(n, k, a, reinterpret_cast<To*>(c), ldc, accumulate);
      } else {
        TESSERA_CHECK(false, "a symmetric product of {} giving {}", types.in, types.out);
      }
    });
  });
}

bool blocks_are_alike(DType dtype) { return dtype == float64 ? alike<double>() : alike<float>(); }

}  // namespace tessera::runtime
