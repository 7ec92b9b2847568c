#include "tessera/runtime/halves.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::runtime {
namespace {

#if defined(__x86_64__)
const bool kHasF16c = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");

__attribute__((target("avx,f16c"))) int64_t widen_f16c(const Float16* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(out + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
  return i;
}
__attribute__((target("avx,f16c"))) int64_t narrow_f16c(const float* in, Float16* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
#else
constexpr bool kHasF16c = false;
int64_t widen_f16c(const Float16*, float*, int64_t) { return 0; }
int64_t narrow_f16c(const float*, Float16*, int64_t) { return 0; }
#endif

}  // namespace

void widen(const Float16* in, float* out, int64_t n) {
  for (int64_t i = kHasF16c ? widen_f16c(in, out, n) : 0; i < n; ++i)
    out[i] = static_cast<float>(in[i]);
}
void narrow(const float* in, Float16* out, int64_t n) {
  for (int64_t i = kHasF16c ? narrow_f16c(in, out, n) : 0; i < n; ++i) out[i] = Float16(in[i]);
}
void widen(const Bfloat16* in, float* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i].bits) << 16);
}
void narrow(const float* in, Bfloat16* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    out[i].bits = static_cast<uint16_t>(nan ? ((bits >> 16) | 0x40) : rounded);
  }
}

}  // namespace tessera::runtime
