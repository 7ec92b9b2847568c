// Says whether any of a block of adjacent elements is before a given one in the order of a sort,
// with vectors. Long lines consist mostly of blocks without such an element.
#pragma once

#include <cstdint>

#include "tessera/base/instructions.h"
#include "tessera/ops/structural/sort_keys.h"

namespace tessera::ops {

// The number of elements of a block.
inline constexpr int64_t kKeyBlock = 64;

namespace internal {

template <class T>
[[gnu::always_inline]] inline bool any_before_of(const T* values, const KeyMaker<T>& maker,
                                                 KeyOf<T> last) {
  const KeyMaker<T> make = maker;
  KeyOf<T> found = 0;
  for (int64_t i = 0; i < kKeyBlock; ++i)
    found |= static_cast<KeyOf<T>>(make(values[i]) < last ? 1 : 0);
  return found != 0;
}

#if defined(__x86_64__)
template <class T>
[[gnu::target("avx2")]] bool any_before_avx2(const T* values, const KeyMaker<T>& maker,
                                             KeyOf<T> last) {
  return any_before_of(values, maker, last);
}
template <class T>
TESSERA_IN_512_BITS("avx512f,avx512bw,avx512dq,avx512vl")
bool any_before_avx512(const T* values, const KeyMaker<T>& maker, KeyOf<T> last) {
  return any_before_of(values, maker, last);
}
#endif

}  // namespace internal

// Returns whether any of kKeyBlock adjacent values has a key before `last`.
template <class T>
bool any_key_before(const T* values, const KeyMaker<T>& maker, KeyOf<T> last) {
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2"),
                    avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                             __builtin_cpu_supports("avx512bw") &&
                             __builtin_cpu_supports("avx512dq") &&
                             __builtin_cpu_supports("avx512vl");
  if (avx512) return internal::any_before_avx512(values, maker, last);
  if (avx2) return internal::any_before_avx2(values, maker, last);
#endif
  return internal::any_before_of(values, maker, last);
}

}  // namespace tessera::ops
