#include "tessera/runtime/products/deinterleave.h"

#include "tessera/base/error.h"
#include "tessera/base/format.h"
#include "tessera/base/instructions.h"

namespace tessera::runtime {
namespace {

// The compiler makes shuffles of vectors of this, because it knows the number of lines.
template <int lines, class T>
[[gnu::always_inline]] inline void copy_lines(const T* __restrict from, T* __restrict to,
                                              int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int l = 0; l < lines; ++l) to[l * n + i] = from[i * lines + l];
}

template <class T>
[[gnu::always_inline]] inline void copy_any(const T* from, T* to, int64_t lines, int64_t n) {
  if (lines == 2) return copy_lines<2>(from, to, n);
  if (lines == 3) return copy_lines<3>(from, to, n);
  if (lines == 4) return copy_lines<4>(from, to, n);
  copy_lines<8>(from, to, n);
}
template <class T>
void copy(const T* from, T* to, int64_t lines, int64_t n) {
  copy_any(from, to, lines, n);
}
template <class T>
TESSERA_AVX2 void copy_avx2(const T* from, T* to, int64_t lines, int64_t n) {
  copy_any(from, to, lines, n);
}

}  // namespace

template <class T>
void deinterleave(const T* from, T* to, int64_t lines, int64_t n) {
  TESSERA_CHECK(can_deinterleave(lines), "{} lines", lines);
  has_avx2() ? copy_avx2(from, to, lines, n) : copy(from, to, lines, n);
}

template void deinterleave(const uint8_t*, uint8_t*, int64_t, int64_t);
template void deinterleave(const uint16_t*, uint16_t*, int64_t, int64_t);
template void deinterleave(const uint32_t*, uint32_t*, int64_t, int64_t);
template void deinterleave(const uint64_t*, uint64_t*, int64_t, int64_t);

}  // namespace tessera::runtime
