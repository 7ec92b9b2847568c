#include "tessera/runtime/products/gemm_complex.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/products/add_product.h"

// No vector is passed between functions, because all is in line. The end of the source file, where
// templates are instantiated, must be included.
#pragma GCC diagnostic ignored "-Wpsabi"

namespace tessera::runtime {
namespace {

// With more multiplications, or more terms, a library is faster.
constexpr int64_t kMostMultiplications = int64_t{24} * 24 * 24, kMostTerms = 64;

// The operands and the result as real and imaginary parts, which alternate. Distances are in
// complex numbers. The rows of b and c are contiguous.
template <class T>
struct ComplexProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row;
  const T* b;
  int64_t b_row;
  T* c;
  int64_t ldc;
  int64_t a_column;  // not next to a_row: the compiler would copy both as a vector (gemm.h)
};

// Returns by_re + i by_im, where both contain complex numbers: the parts of by_im are exchanged,
// and then the first one is subtracted.
template <class Vector, int... I>
[[gnu::always_inline]] inline Vector joined(const Vector& by_re, const Vector& by_im,
                                            std::integer_sequence<int, I...>) {
  const Vector exchanged = __builtin_shufflevector(by_im, by_im, (I ^ 1)...);
  const Vector difference = by_re - exchanged, sum = by_re + exchanged;
  constexpr int lanes = sizeof...(I);
  return __builtin_shufflevector(difference, sum, (I % 2 * lanes + I)...);
}

// Computes rows [row, row + rows) of the vector of the result that begins at column j.
template <class T, int lanes, int rows>
[[gnu::always_inline]] inline void complex_block(const ComplexProduct<T>& p, int64_t row,
                                                 int64_t j) {
  typedef T Vector __attribute__((vector_size(sizeof(T) * lanes)));
  const Vector zero = {};
  Vector by_re[rows] = {}, by_im[rows] = {};
  const T *a = p.a + 2 * row * p.a_row, *b = p.b + 2 * j;
  for (int64_t k = 0; k < p.k; ++k, a += 2 * p.a_column, b += 2 * p.b_row) {
    Vector y;
    std::memcpy(&y, b, sizeof(Vector));
#pragma GCC unroll 4
    for (int i = 0; i < rows; ++i) {
      const Vector re = a[2 * i * p.a_row] - zero, im = a[2 * i * p.a_row + 1] - zero;
      add_product<T, lanes>(by_re[i], re, y);
      add_product<T, lanes>(by_im[i], im, y);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < rows; ++i) {
    const Vector out = joined(by_re[i], by_im[i], std::make_integer_sequence<int, lanes>());
    std::memcpy(p.c + 2 * ((row + i) * p.ldc + j), &out, sizeof(Vector));
  }
}

// Computes a product of at least lanes / 2 columns. The last vector and the last rows overlap those
// before them; their elements get the same bits again.
template <class T, int lanes>
[[gnu::always_inline]] inline void complex_columns(const ComplexProduct<T>& p) {
  constexpr int kRows = 4;
  constexpr int64_t width = lanes / 2;
  for (int64_t j = 0; j < p.n; j += width) {
    const int64_t column = std::min(j, p.n - width);
    if (p.m >= kRows) {
      for (int64_t row = 0; row < p.m; row += kRows)
        complex_block<T, lanes, kRows>(p, std::min(row, p.m - kRows), column);
    } else {
      for (int64_t row = 0; row < p.m; ++row) complex_block<T, lanes, 1>(p, row, column);
    }
  }
}

// Uses vectors of at most `bytes`.
template <class T, int bytes>
[[gnu::always_inline]] inline void complex_product(const ComplexProduct<T>& p) {
  constexpr int lanes = bytes / sizeof(T);
  if (2 * p.n >= lanes) {
    complex_columns<T, lanes>(p);
  } else if constexpr (bytes > 16) {
    complex_product<T, bytes / 2>(p);
  }
}

template <class T>
using ComplexCode = void (*)(const ComplexProduct<T>&);

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void complex_avx2(const ComplexProduct<T>& p) {
  complex_product<T, 32>(p);
}
template <class T>
TESSERA_IN_512_BITS("avx512f,avx512vl,fma")
void complex_avx512(const ComplexProduct<T>& p) {
  complex_product<T, 64>(p);
}
#endif

// Returns the code for this CPU; null if there is none.
template <class T>
ComplexCode<T> complex_code() {
#if defined(__x86_64__)
  static const bool avx512 =
                        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"),
                    avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return complex_avx512<T>;
  if (avx2) return complex_avx2<T>;
#endif
  return nullptr;
}

}  // namespace

template <class T>
bool gemm_complex(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
                  std::complex<T>* c, int64_t ldc) {
  constexpr int64_t kLeastColumns = 8 / static_cast<int64_t>(sizeof(T));
  const ComplexCode<T> code = complex_code<T>();
  if (!code || n < kLeastColumns || k > kMostTerms || m * n * k > kMostMultiplications)
    return false;
  const bool packs = b.col_stride != 1;
  const auto* pb = reinterpret_cast<const std::complex<T>*>(b.data);
  std::optional<Workspace<std::complex<T>>> packed;
  if (packs) {
    std::complex<T>* rows = packed.emplace(k * n).data();
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) rows[p * n + j] = pb[p * b.row_stride + j * b.col_stride];
    pb = rows;
  }
  code({.m = m,
        .n = n,
        .k = k,
        .a = reinterpret_cast<const T*>(a.data),
        .a_row = a.row_stride,
        .b = reinterpret_cast<const T*>(pb),
        .b_row = packs ? n : b.row_stride,
        .c = reinterpret_cast<T*>(c),
        .ldc = ldc,
        .a_column = a.col_stride});
  return true;
}

template bool gemm_complex(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&,
                           std::complex<float>*, int64_t);
template bool gemm_complex(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&,
                           std::complex<double>*, int64_t);

}  // namespace tessera::runtime
