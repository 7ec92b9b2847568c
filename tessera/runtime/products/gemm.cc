#include "tessera/runtime/products/gemm.h"

#include <cblas.h>

#include <algorithm>
#include <cstring>

#include "tessera/base/blas.h"
#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/shape.h"
#include "tessera/base/visit_dtype.h"
#include "tessera/base/workspace.h"
#include "tessera/runtime/products/gemm_avx512.h"
#include "tessera/runtime/products/gemm_bfloat16.h"
#include "tessera/runtime/products/gemm_complex.h"
#include "tessera/runtime/products/gemm_integers.h"
#include "tessera/runtime/products/gemm_long.h"
#include "tessera/runtime/products/gemm_pairs.h"
#include "tessera/runtime/products/gemm_panels.h"
#include "tessera/runtime/products/gemm_parts.h"
#include "tessera/runtime/products/gemm_small.h"
#include "tessera/runtime/products/gemm_tiles.h"

namespace tessera::runtime {
namespace {

// With fewer multiplications than this, calling a library costs more than the work.
constexpr int64_t kLoopLimit = 1024;

// Calls BLAS's product of a matrix, which is rows x cols as it is stored, and a vector x.
template <class T>
void gemv_blas(bool transposed, int64_t rows, int64_t cols, const T* a, int64_t lda, const T* x,
               int64_t x_step, T beta, T* y, int64_t y_step) {
  const auto order = cblas_order(transposed);
  const T one{1};
  const int ir = static_cast<int>(rows), ic = static_cast<int>(cols), ia = static_cast<int>(lda),
            ix = static_cast<int>(std::max<int64_t>(1, x_step)), iy = static_cast<int>(y_step);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemv(CblasRowMajor, order, ir, ic, one, a, ia, x, ix, beta, y, iy);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_cgemv(CblasRowMajor, order, ir, ic, &one, a, ia, x, ix, &beta, y, iy);
  } else {
    cblas_zgemv(CblasRowMajor, order, ir, ic, &one, a, ia, x, ix, &beta, y, iy);
  }
}

// Multiplies a matrix by a vector. Every element of the matrix is read once, so memory traffic
// determines the time. Returns false if neither operand is a vector.
template <class T>
bool gemv(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc, T beta) {
  const auto* pa = reinterpret_cast<const T*>(a.data);
  const auto* pb = reinterpret_cast<const T*>(b.data);
  if (n == 1) {
    const Leading la = leading(a, m, k);
    gemv_blas(la.transposed, la.transposed ? k : m, la.transposed ? m : k, pa, la.ld, pb,
              b.row_stride, beta, c, ldc);
    return true;
  }
  if (m == 1) {
    const Leading lb = leading(b, k, n);
    gemv_blas(!lb.transposed, lb.transposed ? n : k, lb.transposed ? k : n, pb, lb.ld, pa,
              a.col_stride, beta, c, 1);
    return true;
  }
  return false;
}

// Without AVX-512, oneDNN is also 1.1 to 1.4 times as fast for products that stay in a core's
// cache, since it copies less before it begins. Exceptions are the smallest products, and products
// with a transposed lhs whose rows compete for the same lines of the cache.
bool onednn_is_faster_when_small(int64_t m, int64_t n, int64_t k, const Leading& lhs) {
  constexpr int64_t kLeast = int64_t{32} * 32 * 32, kMost = int64_t{192} * 192 * 192,
                    kAliasing = 4096;  // in bytes: rows at this distance compete
  const int64_t size = m * n * k;
  return size >= kLeast && size <= kMost &&
         !(lhs.transposed && lhs.ld * static_cast<int64_t>(sizeof(float)) % kAliasing == 0);
}

void gemm_float32(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, float* c, int64_t ldc,
                  bool accumulate) {
  const float beta = accumulate ? 1.f : 0.f;
  const Leading la = leading(a, m, k);
  const bool vector = m == 1 || n == 1,
             blas = vector || !(onednn_is_faster() || onednn_is_faster_when_small(m, n, k, la));
  if (blas) prepare_blas();
  if (gemv(m, n, k, a, b, c, ldc, beta)) return;
  if (blas) return gemm_blas(m, n, k, a, b, c, ldc, accumulate);
  gemm_onednn(m, n, k, a, b, c, ldc, accumulate);
}

// Computes the product if it is a small one (gemm_small.h, gemm_panels.h) or has few long sums
// (gemm_long.h). Otherwise returns false.
template <class T>
bool computed_small(int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
                    void* c, int64_t ldc, bool accumulate) {
  if (m <= 1 || k <= 0 || accumulate) return false;
  if (gemm_small<T>(m, n, k, a, b, static_cast<T*>(c), ldc)) return true;
  if constexpr (std::is_same_v<T, float>)
    return gemm_panels(m, n, k, a, b, static_cast<T*>(c), ldc) ||
           gemm_long(m, n, k, a, b, static_cast<T*>(c), ldc);
  return false;
}

template <class T>
void gemm_same(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
               bool accumulate) {
  if constexpr (std::is_floating_point_v<T>)
    if (computed_small<T>(m, n, k, a, b, c, ldc, accumulate)) return;
  if constexpr (is_complex_type<T>)
    if (m > 1 && k > 0 && !accumulate && gemm_complex(m, n, k, a, b, c, ldc)) return;
  if (m * n * k <= kLoopLimit || k == 0) {
    gemm_loops<T>(m, n, k, a, b, c, ldc, accumulate);
  } else if constexpr (std::is_integral_v<T> && sizeof(T) == 1) {
    gemm_pairs<T>(m, n, k, a, b, c, ldc, accumulate);
  } else if constexpr (std::is_integral_v<T>) {
    gemm_integers(m, n, k, a, b, c, ldc, accumulate);
  } else if constexpr (std::is_same_v<T, float>) {
    gemm_float32(m, n, k, a, b, c, ldc, accumulate);
  } else {
    if constexpr (std::is_same_v<T, double>)
      if (gemm_avx512(m, n, k, a, b, c, ldc, accumulate)) return;
    prepare_blas();
    if constexpr (is_complex_type<T>)
      if (gemv(m, n, k, a, b, c, ldc, accumulate ? T{1} : T{0})) return;
    gemm_blas(m, n, k, a, b, c, ldc, accumulate);
  }
}

// Converts tiles along k that stay in the cache, without changing the order of their storage.
template <class From, class To>
void gemm_converted(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, To* c, int64_t ldc,
                    bool accumulate) {
  const int64_t tile =
      std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(1, m + n), 64, 512);
  const int64_t a_elements = ceil_div(m * std::min(k, tile), 64) * 64;
  const Workspace<To> converted(a_elements + n * std::min(k, tile));
  To *ta = converted.data(), *tb = ta + a_elements;
  for (int64_t k0 = 0; k0 < std::max<int64_t>(k, 1); k0 += tile) {
    const int64_t width = std::min(tile, k - k0);
    const MatrixRef xa = a.shifted(0, k0, sizeof(From)), xb = b.shifted(k0, 0, sizeof(From));
    MatrixRef ca{reinterpret_cast<std::byte*>(ta), width, 1},
        cb{reinterpret_cast<std::byte*>(tb), n, 1};
    if (a.col_stride == 1) {
      convert_rows<From>(xa, m, width, ta);
    } else {
      convert_rows<From>({xa.data, xa.col_stride, 1}, width, m, ta);
      ca = {ca.data, 1, m};
    }
    if (b.col_stride == 1) {
      convert_rows<From>(xb, width, n, tb);
    } else {
      convert_rows<From>({xb.data, xb.col_stride, 1}, n, width, tb);
      cb = {cb.data, 1, width};
    }
    gemm_same<To>(m, n, width, ca, cb, c, ldc, accumulate || k0 > 0);
  }
}

template <class From, class To>
constexpr bool supported() {
  return std::is_same_v<From, To> ? !kHalf<From> : gemm_converts<From, To>;
}

}  // namespace

DType gemm_sum_dtype(DType in, DType out) {
  if (is_complex(out)) return itemsize(in) > itemsize(out) ? in : out;
  if (is_floating(out)) return in == float64 || out == float64 ? float64 : float32;
  return itemsize(in) > itemsize(out) ? in : out;
}

DType gemm_operand_dtype(GemmTypes types) {
  bool direct = false;
  visit_dtype(types.in, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.out, [&]<class To>(TypeTag<To>) {
      if constexpr (kInt<From> && kInt<To>) direct = gemm_has_pairs<From, std::make_unsigned_t<To>>;
    });
  });
  return direct ? types.in : types.out;
}

bool gemm_supports(GemmTypes types) {
  return visit_dtype(types.in, [&]<class From>(TypeTag<From>) {
    return visit_dtype(types.out, [&]<class To>(TypeTag<To>) { return supported<From, To>(); });
  });
}

namespace {

void gemm_without_tiles(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                        std::byte* c, int64_t ldc, bool accumulate) {
  if (types.in == bfloat16 && types.out == float32 &&
      gemm_bfloat16(m, n, k, a, b, reinterpret_cast<float*>(c), ldc, accumulate))
    return;
  visit_dtype(types.in, [&]<class From>(TypeTag<From>) {
    visit_dtype(types.out, [&]<class To>(TypeTag<To>) {
      if constexpr (std::is_same_v<From, To> && std::is_same_v<From, bool>) {
        gemm_loops<Bool>(m, n, k, a, b, reinterpret_cast<Bool*>(c), ldc, accumulate);
      } else if constexpr (kInt<To> && supported<From, To>()) {
        // Integers wrap, so products of signed and unsigned ones of a width are the same.
        using Word = std::make_unsigned_t<To>;
        auto* words = reinterpret_cast<Word*>(c);
        if constexpr (sizeof(From) == sizeof(To)) {
          gemm_same<Word>(m, n, k, a, b, words, ldc, accumulate);
        } else if (gemm_has_pairs<From, Word> && m * n * k > kLoopLimit) {
          if constexpr (gemm_has_pairs<From, Word>)
            gemm_pairs<From>(m, n, k, a, b, words, ldc, accumulate);
        } else {
          gemm_converted<From, Word>(m, n, k, a, b, words, ldc, accumulate);
        }
      } else if constexpr (std::is_same_v<From, To> && supported<From, To>()) {
        gemm_same<To>(m, n, k, a, b, reinterpret_cast<To*>(c), ldc, accumulate);
      } else if constexpr (supported<From, To>()) {
        gemm_converted<From, To>(m, n, k, a, b, reinterpret_cast<To*>(c), ldc, accumulate);
      } else {
        TESSERA_CHECK(false, "a product of {} giving {}", types.in, types.out);
      }
    });
  });
}

}  // namespace

void gemm(GemmTypes types, int64_t m, int64_t n, int64_t k, const MatrixRef& a, const MatrixRef& b,
          std::byte* c, int64_t ldc, bool accumulate) {
  if (m == 0 || n == 0) return;
  // Before anything copies `a` or `b` (gemm.h).
  if (types.in == float32 && types.out == float32 &&
      computed_small<float>(m, n, k, a, b, c, ldc, accumulate))
    return;
  if (types.in == float64 && types.out == float64 &&
      computed_small<double>(m, n, k, a, b, c, ldc, accumulate))
    return;
  if (types.out == float32 && wants_tiles(types.in) &&
      gemm_tiles(types, m, n, k, a, b, reinterpret_cast<float*>(c), ldc, accumulate,
                 gemm_without_tiles))
    return;
  gemm_without_tiles(types, m, n, k, a, b, c, ldc, accumulate);
}

bool gemm_knows_symmetric(GemmTypes types) { return types.in == float64 && types.out == float64; }

void gemm_symmetric(GemmTypes types, int64_t n, int64_t k, MatrixRef a, std::byte* c, int64_t ldc,
                    bool accumulate) {
  TESSERA_CHECK(gemm_knows_symmetric(types), "a symmetric product of {}", types.in);
  // OpenBLAS takes longer for half of a small result than gemm_avx512() for all of it.
  constexpr int64_t kSmall = 96;
  if (n <= kSmall && cpu_has_avx512())
    return gemm(types, n, n, k, a, {a.data, a.col_stride, a.row_stride}, c, ldc, accumulate);
  prepare_blas();
  const Leading la = leading(a, n, k);
  cblas_dsyrk(CblasRowMajor, CblasUpper, cblas_order(la.transposed), static_cast<int>(n),
              static_cast<int>(k), 1, reinterpret_cast<const double*>(a.data),
              static_cast<int>(la.ld), accumulate ? 1 : 0, reinterpret_cast<double*>(c),
              static_cast<int>(ldc));
}

}  // namespace tessera::runtime
