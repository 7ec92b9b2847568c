#include "tessera/runtime/one_thread.h"

#include <dlfcn.h>

namespace tessera::runtime {
namespace {

// Functions of the OpenMP runtime that oneDNN loaded; null if oneDNN is built without OpenMP.
struct OpenMp {
  int (*get_max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT,
                                                               "omp_get_max_threads"));
  void (*set_num_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT,
                                                                       "omp_set_num_threads"));
};
const OpenMp& open_mp() {
  static const OpenMp functions;
  return functions;
}

}  // namespace

OneThread::OneThread() : before_(1) {
  const OpenMp& omp = open_mp();
  if (!omp.get_max_threads || !omp.set_num_threads) return;
  before_ = omp.get_max_threads();
  if (before_ != 1) omp.set_num_threads(1);
}
OneThread::~OneThread() {
  if (before_ != 1) open_mp().set_num_threads(before_);
}

}  // namespace tessera::runtime
