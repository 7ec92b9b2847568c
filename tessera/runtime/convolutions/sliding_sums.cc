#include "tessera/runtime/convolutions/sliding_sums.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tessera/base/instructions.h"
#include "tessera/runtime/products/add_product.h"

namespace tessera::runtime {
namespace {

struct Slide {
  const double* line;
  const double* filter;
  int64_t taps, distance;
  double* out;
};

// Computes the sums of `vectors` vectors from j on. They stay in registers.
template <int lanes, bool fused, int vectors>
[[gnu::always_inline]] inline void sum_vectors(const Slide& s, int64_t j) {
  typedef double Vector __attribute__((vector_size(sizeof(double) * lanes)));
  const Vector zero = {};
  Vector sums[vectors] = {};
  const double* x = s.line + j;
  for (int64_t t = 0; t < s.taps; ++t, x += s.distance) {
    const Vector factor = s.filter[t] - zero;
#pragma GCC unroll 8
    for (int v = 0; v < vectors; ++v) {
      Vector y;
      std::memcpy(&y, x + v * lanes, sizeof(y));
      if constexpr (fused) {
        add_product<double, lanes>(sums[v], factor, y);
      } else {
        sums[v] += factor * y;
      }
    }
  }
  std::memcpy(s.out + j, sums, sizeof(sums));
}

// Computes n sums, of which there are at least `lanes`. The last vector overlaps the one before it:
// its elements get the same bits again.
template <int lanes, bool fused>
[[gnu::always_inline]] inline void sum_in_lanes(const Slide& s, int64_t n) {
  // A vector of sums waits for its last addition. This many vectors keep the CPU busy.
  constexpr int kVectors = 8, kBlock = kVectors * lanes;
  int64_t j = 0;
  for (; j + kBlock <= n; j += kBlock) sum_vectors<lanes, fused, kVectors>(s, j);
  for (; j < n; j += lanes) sum_vectors<lanes, fused, 1>(s, std::min(j, n - lanes));
}

#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void sum_avx2(const Slide& s, int64_t n) {
  sum_in_lanes<4, true>(s, n);
}
TESSERA_IN_512_BITS("avx512f,fma") void sum_avx512(const Slide& s, int64_t n) {
  sum_in_lanes<8, true>(s, n);
}
#endif

// Computes fewer sums than a vector has.
void sum_one_by_one(const Slide& s, int64_t n, bool fused) {
  for (int64_t j = 0; j < n; ++j) {
    double sum = 0;
    for (int64_t t = 0; t < s.taps; ++t) {
      const double x = s.line[j + t * s.distance];
      sum = fused ? std::fma(s.filter[t], x, sum) : sum + s.filter[t] * x;
    }
    s.out[j] = sum;
  }
}

}  // namespace

void sliding_sums(const double* line, int64_t n, const double* filter, int64_t taps,
                  int64_t distance, double* out) {
  const Slide s{line, filter, taps, distance, out};
#if defined(__x86_64__)
  static const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
                    avx512 = avx2 && __builtin_cpu_supports("avx512f");
  if (avx512 && n >= 8) return sum_avx512(s, n);
  if (avx2) return n >= 4 ? sum_avx2(s, n) : sum_one_by_one(s, n, true);
#endif
  n >= 2 ? sum_in_lanes<2, false>(s, n) : sum_one_by_one(s, n, false);
}

}  // namespace tessera::runtime
