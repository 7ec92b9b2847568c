// The building blocks of matrix products: calls of libraries, plain loops, and conversions of
// operands. gemm.cc chooses among them by shape; gemm_invariant.cc does not, because its results
// must not depend on the shape.
#pragma once

#include <cblas.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "tessera/base/dtype.h"
#include "tessera/runtime/halves.h"
#include "tessera/runtime/products/gemm.h"

namespace tessera::runtime {

struct Leading {
  bool transposed;
  int64_t ld;
};
// Returns how BLAS describes a matrix of rows x cols. The leading dimension is at least the length
// of a stored row.
inline Leading leading(const MatrixRef& x, int64_t rows, int64_t cols) {
  if (x.col_stride == 1) return {false, std::max(x.row_stride, std::max<int64_t>(1, cols))};
  return {true, std::max(x.col_stride, std::max<int64_t>(1, rows))};
}

CBLAS_TRANSPOSE cblas_order(bool transposed);

template <class T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_same_v<T, uint8_t> || std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;  // an overflow wraps
    return static_cast<T>(static_cast<uint64_t>(static_cast<U>(a)) *
                              static_cast<uint64_t>(static_cast<U>(b)) +
                          static_cast<uint64_t>(static_cast<U>(c)));
  } else {
    return c + a * b;
  }
}
struct Bool {
  uint8_t value = 0;
};
inline Bool multiply_add(Bool a, Bool b, Bool c) {
  return {static_cast<uint8_t>(c.value | (a.value & b.value))};
}

// Computes c (+)= a b by plain loops. The inner loop adds a multiple of a row of b to a row of c,
// so its elements are adjacent. If b is transposed, its rows are first copied in blocks.
template <class T>
void gemm_loops(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
                bool accumulate) {
  const auto* pa = reinterpret_cast<const T*>(a.data);
  const auto* pb = reinterpret_cast<const T*>(b.data);
  if (!accumulate)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * ldc, n, T{});
  constexpr int64_t kBlockK = 64, kBlockN = 256;
  T block[kBlockN];
  for (int64_t k0 = 0; k0 < k; k0 += kBlockK) {
    for (int64_t n0 = 0; n0 < n; n0 += kBlockN) {
      const int64_t k1 = std::min(k, k0 + kBlockK), width = std::min(kBlockN, n - n0);
      for (int64_t p = k0; p < k1; ++p) {
        const T* row = pb + p * b.row_stride + n0 * b.col_stride;
        if (b.col_stride != 1) {
          for (int64_t j = 0; j < width; ++j) block[j] = row[j * b.col_stride];
          row = block;
        }
        for (int64_t i = 0; i < m; ++i) {
          const T x = pa[i * a.row_stride + p * a.col_stride];
          T* out = c + i * ldc + n0;
          for (int64_t j = 0; j < width; ++j) out[j] = multiply_add(x, row[j], out[j]);
        }
      }
    }
  }
}

// Computes c (+)= a b by OpenBLAS, for float, double and complex numbers of these.
template <class T>
void gemm_blas(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
               bool accumulate);

// Computes c (+)= a b by oneDNN.
void gemm_onednn(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, float* c, int64_t ldc,
                 bool accumulate);

// Returns whether oneDNN's kernels are faster than OpenBLAS's on this CPU, for large products.
bool onednn_is_faster();

template <class T>
constexpr bool kHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <class T>
constexpr bool kInt = std::is_integral_v<T> && !std::is_same_v<T, bool>;

// Copies rows x cols elements of `x` to dense rows of another type.
template <class From, class To>
void convert_rows(MatrixRef x, int64_t rows, int64_t cols, To* out) {
  const auto* p = reinterpret_cast<const From*>(x.data);
  if (x.row_stride == cols) {  // one long row: short ones do not fill vectors
    cols *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; ++i) {
    if constexpr (kHalf<From> && std::is_same_v<To, float>) {
      widen(p + i * x.row_stride, out + i * cols, cols);
    } else if constexpr (kHalf<From>) {
      for (int64_t j = 0; j < cols; ++j)
        out[i * cols + j] = static_cast<float>(p[i * x.row_stride + j]);
    } else {
      for (int64_t j = 0; j < cols; ++j)
        out[i * cols + j] =
            static_cast<To>(p[i * x.row_stride + j]);  // NOLINT(bugprone-signed-char-misuse)
    }
  }
}

// True if elements of type From may be converted to To, another type, for the sums of a product.
template <class From, class To>
constexpr bool gemm_converts =
    std::is_same_v<To, float>    ? kHalf<From>
    : std::is_same_v<To, double> ? kHalf<From> || std::is_same_v<From, float>
    : std::is_same_v<To, std::complex<double>>
        ? std::is_same_v<From, std::complex<float>>
        : !std::is_same_v<From, To> && kInt<From> && kInt<To> && sizeof(From) <= sizeof(To);

}  // namespace tessera::runtime
