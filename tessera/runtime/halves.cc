#include "tessera/runtime/halves.h"

#include <bit>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "tessera/base/instructions.h"

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

TESSERA_AVX2 int64_t widen_avx2(const Bfloat16* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
  return i;
}
// Returns 8 numbers as the low halves of integers: rounded, or with a bit of NaN set.
TESSERA_AVX2 __m256i rounded_avx2(const float* in) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(in)),
                high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_srli_epi32(
      _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff)),
                nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  return _mm256_blendv_epi8(rounded, _mm256_or_si256(high, _mm256_set1_epi32(0x40)), nan);
}
TESSERA_AVX2 int64_t narrow_avx2(const float* in, Bfloat16* out, int64_t n) {
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    // The halves of 128 bits are packed one by one: their order is 0, 2, 1, 3.
    const __m256i packed = _mm256_packus_epi32(rounded_avx2(in + i), rounded_avx2(in + i + 8));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i),
                        _mm256_permute4x64_epi64(packed, 0b11011000));
  }
  return i;
}
#else
constexpr bool kHasF16c = false;
int64_t widen_avx2(const Bfloat16*, float*, int64_t) { return 0; }
int64_t narrow_avx2(const float*, Bfloat16*, int64_t) { return 0; }
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
  for (int64_t i = has_avx2() ? widen_avx2(in, out, n) : 0; i < n; ++i)
    out[i] = std::bit_cast<float>(static_cast<uint32_t>(in[i].bits) << 16);
}
void narrow(const float* in, Bfloat16* out, int64_t n) {
  for (int64_t i = has_avx2() ? narrow_avx2(in, out, n) : 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const bool nan = (bits & 0x7fffffff) > 0x7f800000;
    out[i].bits = static_cast<uint16_t>(nan ? ((bits >> 16) | 0x40) : rounded);
  }
}

}  // namespace tessera::runtime
