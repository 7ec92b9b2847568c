#include "tessera/ops/indexing/scatter_float16.h"

#include "tessera/base/error.h"
#include "tessera/ops/core/fold_element.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tessera::ops {

#if defined(__x86_64__)
namespace {

#define TESSERA_F16C [[gnu::target("avx2,f16c")]]

// Returns the bits of the fold of two numbers. It is computed in float and rounded.
template <ReduceKind kind>
TESSERA_F16C inline uint16_t folded(uint16_t old, uint16_t update) {
  const float sum = fold_element<kind, float>(_cvtsh_ss(old), _cvtsh_ss(update));
  return _cvtss_sh(sum, _MM_FROUND_TO_NEAREST_INT);  // a macro in some compilers' headers
}

template <ReduceKind kind>
TESSERA_F16C void fold_halves(void* array, const int64_t* __restrict at, const void* updates,
                              int64_t n) {
  auto* __restrict x = static_cast<uint16_t*>(array);
  const auto* __restrict u = static_cast<const uint16_t*>(updates);
  for (int64_t i = 0; i < n; ++i) x[at[i]] = folded<kind>(x[at[i]], u[i]);
}

template <ReduceKind kind>
TESSERA_F16C void fold_chosen_halves(void* array, const int64_t* __restrict at, const void* updates,
                                     const int64_t* __restrict from, int64_t n) {
  auto* __restrict x = static_cast<uint16_t*>(array);
  const auto* __restrict u = static_cast<const uint16_t*>(updates);
  for (int64_t i = 0; i < n; ++i) x[at[i]] = folded<kind>(x[at[i]], u[from[i]]);
}

template <ReduceKind kind, class Index>
TESSERA_F16C void fold_indexed_halves(void* array, const void* index, int64_t stride,
                                      int64_t largest, const void* updates, int64_t n) {
  if (largest < 0) return;
  auto* __restrict x = static_cast<uint16_t*>(array);
  const auto* __restrict u = static_cast<const uint16_t*>(updates);
  const auto* __restrict at = static_cast<const Index*>(index);
  const auto last = static_cast<Index>(largest);  // a negative index is larger, being unsigned
  for (int64_t i = 0; i < n; ++i) {
    if (at[i] > last) continue;
    uint16_t& to = x[static_cast<int64_t>(at[i]) * stride];
    to = folded<kind>(to, u[i]);
  }
}

constexpr int64_t kPart = 8;  // what an instruction converts

template <ReduceKind kind>
TESSERA_F16C void fold_rows_of_halves(void* array, const int64_t* at, const void* updates,
                                      const int64_t* from, int64_t n, int64_t run) {
  for (int64_t i = 0; i < n; ++i) {
    auto* x = static_cast<uint16_t*>(array) + at[i];
    const auto* u = static_cast<const uint16_t*>(updates) + from[i];
    int64_t k = 0;
    for (; k + kPart <= run; k += kPart) {
      float old[kPart], update[kPart];
      auto* to = reinterpret_cast<__m128i*>(x + k);
      _mm256_storeu_ps(old, _mm256_cvtph_ps(_mm_loadu_si128(to)));
      _mm256_storeu_ps(update,
                       _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(u + k))));
      for (int64_t j = 0; j < kPart; ++j) old[j] = fold_element<kind, float>(old[j], update[j]);
      _mm_storeu_si128(to, _mm256_cvtps_ph(_mm256_loadu_ps(old), _MM_FROUND_TO_NEAREST_INT));
    }
    for (; k < run; ++k) x[k] = folded<kind>(x[k], u[k]);
  }
}

template <ReduceKind kind>
constexpr ScatterFolds kFoldsOfHalves = {
    fold_halves<kind>, fold_chosen_halves<kind>, fold_indexed_halves<kind, uint32_t>,
    fold_indexed_halves<kind, uint64_t>, fold_rows_of_halves<kind>};

#undef TESSERA_F16C

}  // namespace

std::optional<ScatterFolds> scatter_folds_of_float16(ScatterKind kind) {
  static const bool converts = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  if (!converts) return std::nullopt;
  switch (kind) {
    case ScatterKind::kAdd:
      return kFoldsOfHalves<ReduceKind::kSum>;
    case ScatterKind::kMul:
      return kFoldsOfHalves<ReduceKind::kProduct>;
    case ScatterKind::kMin:
      return kFoldsOfHalves<ReduceKind::kMin>;
    case ScatterKind::kMax:
      return kFoldsOfHalves<ReduceKind::kMax>;
    case ScatterKind::kSet:
    case ScatterKind::kCustom:
      break;
  }
  TESSERA_CHECK(false, "a fold of numbers");
  return {};
}

#else

std::optional<ScatterFolds> scatter_folds_of_float16(ScatterKind) { return std::nullopt; }

#endif

}  // namespace tessera::ops
