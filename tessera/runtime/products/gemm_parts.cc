#include "tessera/runtime/products/gemm_parts.h"

#include <oneapi/dnnl/dnnl.hpp>

#include "tessera/base/blas.h"
#include "tessera/base/format.h"
#include "tessera/runtime/one_thread.h"

namespace tessera::runtime {

CBLAS_TRANSPOSE cblas_order(bool transposed) { return transposed ? CblasTrans : CblasNoTrans; }

template <class T>
void gemm_blas(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, T* c, int64_t ldc,
               bool accumulate) {
  prepare_blas();
  const Leading la = leading(a, m, k), lb = leading(b, k, n);
  const auto ta = cblas_order(la.transposed), tb = cblas_order(lb.transposed);
  const T one{1}, beta = accumulate ? T{1} : T{0};
  const int im = static_cast<int>(m), in = static_cast<int>(n), ik = static_cast<int>(k),
            lda = static_cast<int>(la.ld), ldb = static_cast<int>(lb.ld),
            ic = static_cast<int>(ldc);
  const auto* pa = reinterpret_cast<const T*>(a.data);
  const auto* pb = reinterpret_cast<const T*>(b.data);
  if constexpr (std::is_same_v<T, float>) {
    cblas_sgemm(CblasRowMajor, ta, tb, im, in, ik, one, pa, lda, pb, ldb, beta, c, ic);
  } else if constexpr (std::is_same_v<T, double>) {
    cblas_dgemm(CblasRowMajor, ta, tb, im, in, ik, one, pa, lda, pb, ldb, beta, c, ic);
  } else if constexpr (std::is_same_v<T, std::complex<float>>) {
    cblas_cgemm(CblasRowMajor, ta, tb, im, in, ik, &one, pa, lda, pb, ldb, &beta, c, ic);
  } else {
    cblas_zgemm(CblasRowMajor, ta, tb, im, in, ik, &one, pa, lda, pb, ldb, &beta, c, ic);
  }
}

template void gemm_blas(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, float*, int64_t, bool);
template void gemm_blas(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, double*, int64_t, bool);
template void gemm_blas(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, std::complex<float>*,
                        int64_t, bool);
template void gemm_blas(int64_t, int64_t, int64_t, MatrixRef, MatrixRef, std::complex<double>*,
                        int64_t, bool);

void gemm_onednn(int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b, float* c, int64_t ldc,
                 bool accumulate) {
  const Leading la = leading(a, m, k), lb = leading(b, k, n);
  const OneThread one_thread;
  const dnnl_status_t status =
      dnnl_sgemm(la.transposed ? 'T' : 'N', lb.transposed ? 'T' : 'N', m, n, k, 1,
                 reinterpret_cast<const float*>(a.data), la.ld,
                 reinterpret_cast<const float*>(b.data), lb.ld, accumulate ? 1.f : 0.f, c, ldc);
  TESSERA_CHECK(status == dnnl_success, "dnnl_sgemm: {}", static_cast<int>(status));
}

// With AVX-512, oneDNN's kernels are twice as fast as OpenBLAS's (485 and 240 GFLOP/s on two
// cores). Without, OpenBLAS's are faster (170 and 137 GFLOP/s on two cores of a Zen).
bool onednn_is_faster() {
#if defined(__x86_64__)
  static const bool faster = __builtin_cpu_supports("avx512f");
  return faster;
#else
  return true;
#endif
}

}  // namespace tessera::runtime
