// Tells the libraries that they are called from one of many tasks: they must not start threads of
// their own.
#pragma once

namespace tessera::runtime {

// oneDNN asks OpenMP how many threads the calling thread may use; for the life of this object the
// answer is one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

// To be called before any BLAS function. OpenBLAS has one setting for the number of threads of the
// process; and it does not know CPUs younger than itself, for which it falls back to code without
// AVX (19 instead of 48 GFLOP/s a core in float64): then it is told what the CPU can do. The
// environment variable OPENBLAS_CORETYPE overrides either choice.
void prepare_blas();

}  // namespace tessera::runtime
