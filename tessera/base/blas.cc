#include "tessera/base/blas.h"

#include <cblas.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

// The functions with which OpenBLAS chose its kernels when it was loaded; a build for one CPU has
// none. They belong to the OpenBLAS that this library is linked with; another one in the process is
// left alone.
extern "C" __attribute__((weak)) void gotoblas_dynamic_quit();
extern "C" __attribute__((weak)) void gotoblas_dynamic_init();
// Ends OpenBLAS's threads, which start again when they are needed. OpenBLAS calls it before a fork.
extern "C" __attribute__((weak)) int blas_thread_shutdown_();

namespace tessera {
namespace {

// Returns the best kernels of OpenBLAS that this CPU can run; null means those for any CPU.
const char* best_core() {
#if defined(__x86_64__)
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && __builtin_cpu_supports("avx512bf16")) return "Cooperlake";
  if (avx512) return "SkylakeX";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return "Haswell";
#endif
  return nullptr;
}

// Returns whether the kernels are for CPUs without AVX2.
bool is_old_core(std::string_view name) {
  for (std::string_view old : {"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem", "Katmai",
                               "Coppermine", "Northwood", "Banias", "Atom", "Athlon", "Opteron",
                               "Opteron(SSE3)", "Barcelona", "Bobcat", "Nano", "Unknown"})
    if (name == old) return true;
  return false;
}

void choose_core() {
  const char* best = best_core();
  if (!best || std::getenv("OPENBLAS_CORETYPE") || !is_old_core(openblas_get_corename())) return;
  if (!gotoblas_dynamic_quit || !gotoblas_dynamic_init) return;
  setenv("OPENBLAS_CORETYPE", best, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv("OPENBLAS_CORETYPE");
}

// OpenBLAS starts a thread for each core when it is loaded, and each of them spins for about 25 ms
// before it sleeps. Only an OpenBLAS that is linked into this library can be stopped safely: no
// other code of the process calls it.
void end_idle_threads() {
  if (!blas_thread_shutdown_) return;
  Dl_info ours{}, theirs{};
  if (!dladdr(reinterpret_cast<void*>(&prepare_blas), &ours) ||
      !dladdr(reinterpret_cast<void*>(blas_thread_shutdown_), &theirs))
    return;
  if (ours.dli_fbase == theirs.dli_fbase) blas_thread_shutdown_();
}

std::atomic<bool> many_threads = false;

}  // namespace

void prepare_blas() {
  static const bool once = [] {
    choose_core();
    openblas_set_num_threads(1);
    end_idle_threads();
    return true;
  }();
  (void)once;
}

BlasThreads::BlasThreads(int n) {
  prepare_blas();
  owner_ = n > 1 && !many_threads.exchange(true);
  if (owner_) openblas_set_num_threads(n);
}
BlasThreads::~BlasThreads() {
  if (!owner_) return;
  openblas_set_num_threads(1);
  many_threads = false;
}

}  // namespace tessera
