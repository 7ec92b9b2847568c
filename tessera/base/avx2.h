// AVX2 for single functions, where the processor that the program runs on has it: a function is
// written once, inline, and called by two, one of them marked TESSERA_AVX2. Fused multiply-add is
// not among its instructions, so that both have the same bits.
#pragma once

#if defined(__x86_64__)
#define TESSERA_AVX2 [[gnu::target("avx2")]]
#else
#define TESSERA_AVX2
#endif

namespace tessera {

// Returns whether functions that are marked so can be called and differ from others.
inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

}  // namespace tessera
