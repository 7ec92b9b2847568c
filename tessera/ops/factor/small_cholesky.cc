#include "tessera/ops/factor/small_cholesky.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <type_traits>

#include "tessera/base/instructions.h"
#include "tessera/base/workspace.h"

namespace tessera::ops::factor {
namespace {

// Matrices of at most so many rows are computed without vectors: a batch of 3 x 3 matrices takes
// 0.2 to 0.3 of the time that it takes with LAPACK, one of 8 x 8 matrices 0.5 to 0.7.
constexpr int64_t kFewRows = 8;
// In vectors: LAPACK takes 0.8 of the time for 8 rows, 1.1 times for 14, 1.5 to 1.9 times for 32 to
// 96, and as long for more than 128, where its blocks stay in the caches.
constexpr int64_t kLeastRows = 14, kMostRows = 128;
// The elements of a row are processed in pieces of this many bytes, one or two vectors.
constexpr int64_t kPieceBytes = 64;

template <class T>
constexpr int64_t kPiece = kPieceBytes / static_cast<int64_t>(sizeof(T));

[[gnu::always_inline]] inline float fused(float a, float b, float c) {
  return __builtin_fmaf(a, b, c);
}
[[gnu::always_inline]] inline double fused(double a, double b, double c) {
  return __builtin_fma(a, b, c);
}

// Computes the factor of a matrix of `n` rows, row by row; returns false, and writes nothing, if
// the matrix is not positive definite.
template <class T, int n, bool lower>
[[gnu::always_inline]] inline bool factorise_few(const T* a, T* out) {
  T l[n][n], inverse[n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      T sum = lower ? a[i * n + j] : a[j * n + i];
      for (int k = 0; k < j; ++k) sum = fused(-l[i][k], l[j][k], sum);
      if (i > j) {
        l[i][j] = sum * inverse[j];
        continue;
      }
      if (!(sum > 0)) return false;
      l[i][i] = std::sqrt(sum);
      inverse[i] = 1 / l[i][i];
    }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int row = lower ? i : j, column = lower ? j : i;
      out[i * n + j] = column <= row ? l[row][column] : T(0);
    }
  return true;
}

// The same for complex numbers, whose parts are computed with one rounding for each product. What
// is on the diagonal besides real parts is not read.
template <class T, int n, bool lower>
[[gnu::always_inline]] inline bool factorise_few_complex(const std::complex<T>* a,
                                                         std::complex<T>* out) {
  T re[n][n], im[n][n], inverse[n];
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) {
      const std::complex<T> element = lower ? a[i * n + j] : a[j * n + i];
      T sum_re = element.real(), sum_im = lower ? element.imag() : -element.imag();
      for (int k = 0; k < j; ++k) {
        sum_re = fused(-im[i][k], im[j][k], fused(-re[i][k], re[j][k], sum_re));
        sum_im = fused(re[i][k], im[j][k], fused(-im[i][k], re[j][k], sum_im));
      }
      if (i > j) {
        re[i][j] = sum_re * inverse[j];
        im[i][j] = sum_im * inverse[j];
        continue;
      }
      if (!(sum_re > 0)) return false;
      re[i][i] = std::sqrt(sum_re);
      im[i][i] = 0;
      inverse[i] = 1 / re[i][i];
    }
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < n; ++j) {
      const int row = lower ? i : j, column = lower ? j : i;
      if (column > row)
        out[i * n + j] = 0;
      else
        out[i * n + j] = {re[row][column], lower || i == j ? im[row][column] : -im[row][column]};
    }
  return true;
}

// Replaces the lower triangle of w by the factor, column by column; returns false if the matrix is
// not positive definite. Rows are `stride` elements apart, a multiple of kPiece. What is to the
// right of the diagonal is overwritten, too. `column` has room for `stride` elements.
template <class T>
[[gnu::always_inline]] inline bool factorise(int64_t n, int64_t stride, T* w, T* column) {
  constexpr int64_t piece = kPiece<T>;
  std::fill_n(column, stride, T(0));
  for (int64_t k = 0; k < n; ++k) {
    const T pivot = w[k * stride + k];
    if (!(pivot > 0)) return false;
    const T root = std::sqrt(pivot), inverse = 1 / root;
    w[k * stride + k] = root;
    // Elements of `column` up to k are 0, so that whole pieces can be subtracted: columns that are
    // complete do not change.
    column[k] = 0;
    for (int64_t i = k + 1; i < n; ++i) column[i] = w[i * stride + k] *= inverse;
    const int64_t first = (k + 1) / piece * piece;
    for (int64_t i = k + 1; i < n; ++i) {
      const T factor = -column[i];
      for (int64_t j = first; j <= i; j += piece) {
        T* row = w + i * stride + j;
        for (int64_t lane = 0; lane < piece; ++lane)
          row[lane] = fused(factor, column[j + lane], row[lane]);
      }
    }
  }
  return true;
}

template <class T>
using FewCode = bool (*)(const T* a, T* out);

#if defined(__x86_64__)
template <class T, int n, bool lower>
[[gnu::target("avx2,fma")]] bool factorise_few_fma(const T* a, T* out) {
  if constexpr (std::is_floating_point_v<T>) {
    return factorise_few<T, n, lower>(a, out);
  } else {
    return factorise_few_complex<typename T::value_type, n, lower>(a, out);
  }
}
template <class T, bool lower>
constexpr std::array<FewCode<T>, kFewRows> few_codes = {
    factorise_few_fma<T, 1, lower>, factorise_few_fma<T, 2, lower>, factorise_few_fma<T, 3, lower>,
    factorise_few_fma<T, 4, lower>, factorise_few_fma<T, 5, lower>, factorise_few_fma<T, 6, lower>,
    factorise_few_fma<T, 7, lower>, factorise_few_fma<T, 8, lower>};

template <class T>
[[gnu::target("avx2,fma")]] bool factorise_avx2(int64_t n, int64_t stride, T* w, T* column) {
  return factorise(n, stride, w, column);
}
template <class T>
TESSERA_IN_512_BITS("avx512f,avx512vl,fma")
bool factorise_avx512(int64_t n, int64_t stride, T* w, T* column) {
  return factorise(n, stride, w, column);
}
#endif

// Returns the code for n <= kFewRows rows on this CPU; null if there is none.
template <class T>
FewCode<T> few_code([[maybe_unused]] int64_t n, [[maybe_unused]] bool lower) {
#if defined(__x86_64__)
  static const bool fma = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const auto& codes = lower ? few_codes<T, true> : few_codes<T, false>;
  if (fma) return codes[static_cast<size_t>(n - 1)];
#endif
  return nullptr;
}

template <class T>
using Code = bool (*)(int64_t n, int64_t stride, T* w, T* column);

// Returns the code for this CPU; null if there is none.
template <class T>
Code<T> code_of_cpu() {
#if defined(__x86_64__)
  static const bool avx512 =
                        __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl"),
                    avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (avx512) return factorise_avx512<T>;
  if (avx2) return factorise_avx2<T>;
#endif
  return nullptr;
}

// Factorises a real matrix of more rows.
template <class T>
SmallCholesky factorise_rows(int64_t n, bool lower, const T* a, T* out) {
  const Code<T> code = code_of_cpu<T>();
  if (!code || n < kLeastRows || n > kMostRows) return SmallCholesky::kLeftToLapack;
  const int64_t stride = (n + kPiece<T> - 1) / kPiece<T> * kPiece<T>;
  const Workspace<T> memory((n + 1) * stride);
  T *w = memory.data(), *column = w + n * stride;
  for (int64_t i = 0; i < n; ++i) {
    if (lower) {
      std::copy_n(a + i * n, i + 1, w + i * stride);
    } else {
      for (int64_t j = 0; j <= i; ++j) w[i * stride + j] = a[j * n + i];
    }
    // The rest of the row is computed with, although it is not read.
    std::fill(w + i * stride + i + 1, w + (i + 1) * stride, T(0));
  }
  if (!code(n, stride, w, column)) return SmallCholesky::kNotPositiveDefinite;
  std::fill_n(out, n * n, T(0));
  for (int64_t i = 0; i < n; ++i) {
    if (lower) {
      std::copy_n(w + i * stride, i + 1, out + i * n);
    } else {
      for (int64_t j = 0; j <= i; ++j) out[j * n + i] = w[i * stride + j];
    }
  }
  return SmallCholesky::kDone;
}

}  // namespace

template <class T>
SmallCholesky small_cholesky(int64_t n, bool lower, const T* a, T* out) {
  if (n > 0 && n <= kFewRows) {
    const FewCode<T> few = few_code<T>(n, lower);
    if (!few) return SmallCholesky::kLeftToLapack;
    return few(a, out) ? SmallCholesky::kDone : SmallCholesky::kNotPositiveDefinite;
  }
  if constexpr (!std::is_floating_point_v<T>) {
    return SmallCholesky::kLeftToLapack;
  } else {
    return factorise_rows(n, lower, a, out);
  }
}

template SmallCholesky small_cholesky(int64_t n, bool lower, const float* a, float* out);
template SmallCholesky small_cholesky(int64_t n, bool lower, const double* a, double* out);
template SmallCholesky small_cholesky(int64_t n, bool lower, const std::complex<float>* a,
                                      std::complex<float>* out);
template SmallCholesky small_cholesky(int64_t n, bool lower, const std::complex<double>* a,
                                      std::complex<double>* out);

}  // namespace tessera::ops::factor
