// The setup of OpenBLAS, which the whole process shares: its kernels and its threads. Code that
// calls BLAS (runtime/products/gemm.h) or LAPACK (ops/factor/lapack.h) calls prepare_blas() first.
#pragma once

namespace tessera {

// Prepares OpenBLAS; must be called before any function of BLAS or LAPACK. It sets OpenBLAS's
// number of threads, a setting of the whole process, to one, because tasks of the thread pool call
// OpenBLAS. It also names the kernels to use: an OpenBLAS that is older than the CPU would fall
// back to code without AVX (19 instead of 48 GFLOP/s a core in float64). The environment variable
// OPENBLAS_CORETYPE overrides that choice.
void prepare_blas();

// As long as this object exists, OpenBLAS uses `n` threads. It is for one large factorisation that
// is called from outside of all tasks. If another thread has such an object, or if n is 1, nothing
// changes.
class BlasThreads {
 public:
  explicit BlasThreads(int n);
  ~BlasThreads();
  BlasThreads(const BlasThreads&) = delete;
  BlasThreads& operator=(const BlasThreads&) = delete;

 private:
  bool owner_ = false;
};

}  // namespace tessera
