// Adds products to sums in vectors, with one rounding, for code that is compiled for several
// instruction sets: in functions marked with a target that has fused multiply-add.
#pragma once

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <cmath>
#include <type_traits>

#include "tessera/base/namespaces.h"

namespace tessera::runtime {

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpsabi"  // no vector is passed between functions: all is in line
// Adds x * y to `sum`, rounded once. The compiler would only make one instruction of a product and
// a sum at a high level of optimization, and the bits of the results must not depend on that.
template <class T, int lanes, class Vector>
[[gnu::always_inline]] inline void add_product(Vector& sum, const Vector& x, const Vector& y) {
#if defined(__x86_64__) && !defined(__clang__)
  constexpr bool kSingle = std::is_same_v<T, float>;
  if constexpr (kSingle && lanes == 4) sum = __builtin_ia32_vfmaddps(x, y, sum);
  if constexpr (kSingle && lanes == 8) sum = __builtin_ia32_vfmaddps256(x, y, sum);
  if constexpr (kSingle && lanes == 16)
    sum = __builtin_ia32_vfmaddps512_mask(x, y, sum, -1, _MM_FROUND_CUR_DIRECTION);
  if constexpr (!kSingle && lanes == 2) sum = __builtin_ia32_vfmaddpd(x, y, sum);
  if constexpr (!kSingle && lanes == 4) sum = __builtin_ia32_vfmaddpd256(x, y, sum);
  if constexpr (!kSingle && lanes == 8)
    sum = __builtin_ia32_vfmaddpd512_mask(x, y, sum, -1, _MM_FROUND_CUR_DIRECTION);
#else
  for (int i = 0; i < lanes; ++i) sum[i] = std::fma(x[i], y[i], sum[i]);
#endif
}
#pragma GCC diagnostic pop

}  // namespace tessera::runtime
