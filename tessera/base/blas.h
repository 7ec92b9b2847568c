// The one OpenBLAS of the process: its kernels and its threads. What calls BLAS (runtime/gemm.h) or
// LAPACK (ops/factor/lapack.h) prepares it first.
#pragma once

namespace tessera {

// To be called before any function of BLAS or LAPACK. OpenBLAS has one setting for the number of
// threads of the process: one, since it is called from many tasks. And it does not know CPUs
// younger than itself, for which it falls back to code without AVX (19 instead of 48 GFLOP/s a core
// in float64): then it is told what the CPU can do. The environment variable OPENBLAS_CORETYPE
// overrides either choice.
void prepare_blas();

// For the life of this object OpenBLAS uses that many threads: for one large factorisation called
// from outside of all tasks. Where another thread has such an object, or n is 1, nothing changes.
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
