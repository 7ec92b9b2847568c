// Whether the process runs under a sanitizer. In builds where only the library is instrumented
// (TESSERA_SANITIZE_PROGRAMS), the compiler of a test does not know it.
#pragma once

#include <dlfcn.h>

namespace tessera {

inline bool has_address_sanitizer() {
  static const bool has = ::dlsym(RTLD_DEFAULT, "__asan_init") != nullptr;
  return has;
}
inline bool has_thread_sanitizer() {
  static const bool has = ::dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
  return has;
}
inline bool has_sanitizer() { return has_address_sanitizer() || has_thread_sanitizer(); }

}  // namespace tessera
