// Instructions that not every processor has, for single functions: a function is written once,
// inline, and called by others, each of which is marked with what it may use.
#pragma once

// Fused multiply-add is not among AVX2's instructions, so a function has the same bits with them.
#if defined(__x86_64__)
#define TESSERA_AVX2 [[gnu::target("avx2")]]
#else
#define TESSERA_AVX2
#endif

// A function of these instructions of AVX-512 whose loops use vectors of 64 bytes. Clang, which has
// no such attribute, chooses 32.
#if defined(__clang__)
#define TESSERA_IN_512_BITS(instructions) [[gnu::target(instructions)]]
#else
#define TESSERA_IN_512_BITS(instructions) [[gnu::target(instructions ",prefer-vector-width=512")]]
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
