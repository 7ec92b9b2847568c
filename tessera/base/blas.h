// The setup of OpenBLAS, of which the process has one copy: its kernels and its threads. Code that
// calls BLAS (runtime/gemm.h) or LAPACK (ops/factor/lapack.h) calls prepare_blas() first.
#pragma once

namespace tessera {

// Prepares OpenBLAS; must be called before any function of BLAS or LAPACK. It sets the number of
// threads, of which OpenBLAS has one setting for the process, to one, since tasks of the thread
// pool call it. It also names the kernels to use: an OpenBLAS that is older than the CPU would fall
// back to code without AVX (19 instead of 48 GFLOP/s a core in float64). The environment variable
// OPENBLAS_CORETYPE overrides that choice.
void prepare_blas();

// During the life of this object OpenBLAS uses that many threads. It is for one large factorisation
// that is called from outside of all tasks. If another thread has such an object, or if n is 1,
// nothing changes.
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
