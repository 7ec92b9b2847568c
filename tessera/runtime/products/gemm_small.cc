#include "tessera/runtime/products/gemm_small.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <type_traits>

#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/products/add_product.h"

namespace tessera::runtime {
namespace {

// The operands and the result. The rows of b and c are contiguous.
template <class T>
struct SmallProduct {
  int64_t m, n, k;
  const T* a;
  int64_t a_row;  // the distance of rows in a
  const T* b;
  int64_t b_row;
  T* c;
  int64_t ldc;
  int64_t a_column;  // not next to a_row: the compiler would copy both as a vector (gemm.h)
};

// Computes rows [row, row + rows) of the vectors of the result that begin at columns j0 and, if
// vectors == 2, j1. They stay in registers.
template <class T, int lanes, int vectors, int rows>
[[gnu::always_inline]] inline void small_block(const SmallProduct<T>& p, int64_t row, int64_t j0,
                                               int64_t j1) {
  typedef T Vector __attribute__((vector_size(sizeof(T) * lanes)));
  const Vector zero = {};
  Vector sums[rows][vectors] = {};
  const T *a = p.a + row * p.a_row, *b = p.b;
  for (int64_t k = 0; k < p.k; ++k, a += p.a_column, b += p.b_row) {
    Vector y[vectors];
    std::memcpy(&y[0], b + j0, sizeof(Vector));
    if constexpr (vectors == 2) std::memcpy(&y[1], b + j1, sizeof(Vector));
#pragma GCC unroll 8
    for (int i = 0; i < rows; ++i) {
      const Vector x = a[i * p.a_row] - zero;
#pragma GCC unroll 2
      for (int v = 0; v < vectors; ++v) add_product<T, lanes>(sums[i][v], x, y[v]);
    }
  }
  T* out = p.c + row * p.ldc;
#pragma GCC unroll 8
  for (int i = 0; i < rows; ++i) {
    std::memcpy(out + i * p.ldc + j0, &sums[i][0], sizeof(Vector));
    if constexpr (vectors == 2) std::memcpy(out + i * p.ldc + j1, &sums[i][1], sizeof(Vector));
  }
}

// Computes all rows of one or two vectors of columns. The last block overlaps the one before it if
// the number of rows is not a multiple of a block's: its elements get the same bits again.
template <class T, int lanes, int vectors>
[[gnu::always_inline]] inline void small_columns(const SmallProduct<T>& p, int64_t j0, int64_t j1) {
  constexpr int kRows = 8, kFewRows = 4;
  if (p.m >= kRows) {
    for (int64_t row = 0; row < p.m; row += kRows)
      small_block<T, lanes, vectors, kRows>(p, std::min(row, p.m - kRows), j0, j1);
  } else if (p.m >= kFewRows) {
    small_block<T, lanes, vectors, kFewRows>(p, 0, j0, j1);
    if (p.m > kFewRows) small_block<T, lanes, vectors, kFewRows>(p, p.m - kFewRows, j0, j1);
  } else {
    for (int64_t row = 0; row < p.m; ++row) small_block<T, lanes, vectors, 1>(p, row, j0, j1);
  }
}

// Computes a product of at least `lanes` columns, two vectors at a time. The last vector overlaps
// the one before it if the number of columns is not a multiple of the lanes.
template <class T, int lanes>
[[gnu::always_inline]] inline void small_columns_of(const SmallProduct<T>& p) {
  for (int64_t j = 0; j < p.n; j += 2 * lanes) {
    const int64_t last = p.n - lanes;
    if (j < last) {
      small_columns<T, lanes, 2>(p, j, std::min(j + lanes, last));
    } else {
      small_columns<T, lanes, 1>(p, last, last);
    }
  }
}

// The number of columns that the narrowest vectors have.
template <class T>
constexpr int64_t kLeastColumns = 16 / static_cast<int64_t>(sizeof(T));

// Uses vectors of at most `bytes`.
template <class T, int bytes>
[[gnu::always_inline]] inline void small_product(const SmallProduct<T>& p) {
  constexpr int lanes = bytes / sizeof(T);
  if (p.n >= lanes) {
    small_columns_of<T, lanes>(p);
  } else if constexpr (bytes > 16) {
    small_product<T, bytes / 2>(p);
  }
}

template <class T>
struct SmallCode {
  void (*run)(const SmallProduct<T>&) = nullptr;
  int64_t most = 0;  // multiplications: with more, a library is faster
};
constexpr int64_t kMostOfWideFloats = int64_t{32} * 32 * 32, kMostOfFloats = int64_t{20} * 20 * 20,
                  kMostOfDoubles = int64_t{16} * 16 * 16, kMostTerms = 64;
// If b must be copied, a product of fewer rows is not worth it.
constexpr int64_t kLeastRowsOfTurned = 8;

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2,fma")]] void small_avx2(const SmallProduct<T>& p) {
  small_product<T, 32>(p);
}
template <class T>
TESSERA_IN_512_BITS("avx512f,avx512vl,fma")
void small_avx512(const SmallProduct<T>& p) {
  small_product<T, 64>(p);
}
#endif

// Returns the code for this CPU; null if there is none.
template <class T>
SmallCode<T> small_code() {
  [[maybe_unused]] constexpr int64_t most = sizeof(T) == 4 ? kMostOfFloats : kMostOfDoubles;
#if defined(__x86_64__)
  static const bool avx512 =
                        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"),
                    avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return {small_avx512<T>, sizeof(T) == 4 ? kMostOfWideFloats : most};
  if (avx2) return {small_avx2<T>, most};
#endif
  return {};
}

}  // namespace

template <class T>
bool gemm_small(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b, T* c,
                int64_t ldc) {
  const SmallCode<T> code = small_code<T>();
  if (!code.run) return false;
  const bool packs = b.col_stride != 1;
  const int64_t most = packs ? std::min(code.most, kMostOfFloats) : code.most;
  if (n < kLeastColumns<T> || k > kMostTerms || m * n * k > most) return false;
  if (packs && m < kLeastRowsOfTurned) return false;
  const auto* pb = reinterpret_cast<const T*>(b.data);
  std::optional<Workspace<T>> packed;
  if (packs) {
    T* rows = packed.emplace(k * n).data();
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) rows[p * n + j] = pb[p * b.row_stride + j * b.col_stride];
  }
  code.run({.m = m,
            .n = n,
            .k = k,
            .a = reinterpret_cast<const T*>(a.data),
            .a_row = a.row_stride,
            .b = packs ? packed->data() : pb,
            .b_row = packs ? n : b.row_stride,
            .c = c,
            .ldc = ldc,
            .a_column = a.col_stride});
  return true;
}

bool is_small(int64_t m, int64_t n, int64_t k) {
  return small_code<double>().run && m > 1 && n >= kLeastColumns<float> && k > 0 &&
         k <= kMostTerms && m * n * k <= kMostOfDoubles;
}

template bool gemm_small(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&, float*,
                         int64_t);
template bool gemm_small(int64_t, int64_t, int64_t, const MatrixRef&, const MatrixRef&, double*,
                         int64_t);

}  // namespace tessera::runtime
