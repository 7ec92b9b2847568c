// AVX2 for single functions, if the processor has it: a function is written once, inline, and
// called by two others, one of which is marked TESSERA_AVX2. Fused multiply-add is not among AVX2's
// instructions, so both have the same bits.
#pragma once

#if defined(__x86_64__)
#define TESSERA_AVX2 [[gnu::target("avx2")]]
#else
#define TESSERA_AVX2
#endif

namespace tessera {

// Returns whether functions marked TESSERA_AVX2 can be called, and differ from others.
inline bool has_avx2() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
#else
  return false;
#endif
}

}  // namespace tessera
