#include "tessera/runtime/grid_products.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/buffer.h"
#include "tessera/base/shape.h"

namespace tessera::runtime {
namespace {

// A block of the result stays in registers: so many rows, and two vectors of columns.
constexpr int64_t kRows = 4;

// 1.5 * 2^23: what is added to it is rounded to a whole number, which then stands in the low bits of the
// sum. Sums of these bits are sums of the whole numbers, modulo 2^32.
constexpr float kRound = 0x1.8p23f;

template <int lanes>
struct Vectors {
  typedef float Floats __attribute__((vector_size(4 * lanes)));
  typedef uint32_t Words __attribute__((vector_size(4 * lanes)));
};

// A block's sums over examples: a is packed as [k][kRows], b as [k][2 vectors]. `one_term`: k counts
// examples.
template <int lanes, bool one_term>
[[gnu::always_inline]] inline void block(int64_t examples, int64_t terms, const float* a,
                                         const float* b, uint32_t* out) {
  using Floats = typename Vectors<lanes>::Floats;
  using Words = typename Vectors<lanes>::Words;
  const Floats round = Floats{} + kRound;
  Words sums[kRows][2] = {};
  for (int64_t e = 0; e < examples; ++e) {
    if constexpr (one_term) {
      Floats y0, y1;
      std::memcpy(&y0, b, sizeof(y0));
      std::memcpy(&y1, b + lanes, sizeof(y1));
#pragma GCC unroll 8
      for (int64_t i = 0; i < kRows; ++i) {
        const Floats x = Floats{} + a[i];
        sums[i][0] += reinterpret_cast<Words>(x * y0 + round);
        sums[i][1] += reinterpret_cast<Words>(x * y1 + round);
      }
      a += kRows;
      b += 2 * lanes;
    } else {
      Floats products[kRows][2] = {};
      for (int64_t t = 0; t < terms; ++t, a += kRows, b += 2 * lanes) {
        Floats y0, y1;
        std::memcpy(&y0, b, sizeof(y0));
        std::memcpy(&y1, b + lanes, sizeof(y1));
#pragma GCC unroll 8
        for (int64_t i = 0; i < kRows; ++i) {
          const Floats x = Floats{} + a[i];
          products[i][0] = x * y0 + products[i][0];
          products[i][1] = x * y1 + products[i][1];
        }
      }
#pragma GCC unroll 8
      for (int64_t i = 0; i < kRows; ++i) {
        sums[i][0] += reinterpret_cast<Words>(products[i][0] + round);
        sums[i][1] += reinterpret_cast<Words>(products[i][1] + round);
      }
    }
  }
  std::memcpy(out, sums, sizeof(sums));
}

template <int lanes>
[[gnu::always_inline]] inline void any_block(int64_t examples, int64_t terms, const float* a,
                                             const float* b, uint32_t* out) {
  terms == 1 ? block<lanes, true>(examples, terms, a, b, out)
             : block<lanes, false>(examples, terms, a, b, out);
}

using Block = void (*)(int64_t, int64_t, const float*, const float*, uint32_t*);

void block_of_4(int64_t examples, int64_t terms, const float* a, const float* b, uint32_t* out) {
  any_block<4>(examples, terms, a, b, out);
}
#if defined(__x86_64__)
[[gnu::target("avx2,fma")]] void block_of_8(int64_t examples, int64_t terms, const float* a,
                                            const float* b, uint32_t* out) {
  any_block<8>(examples, terms, a, b, out);
}
[[gnu::target("avx512f,prefer-vector-width=512")]] void block_of_16(int64_t examples, int64_t terms,
                                                                    const float* a, const float* b,
                                                                    uint32_t* out) {
  any_block<16>(examples, terms, a, b, out);
}
#endif

struct Kernel {
  Block block;
  int64_t columns;
};
Kernel kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return {block_of_16, 32};
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return {block_of_8, 16};
#endif
  return {block_of_4, 8};
}

// x [k, size] (element (p, i) at p * step + i * stride) as blocks [size / width][k][width], filled up
// with zeros.
void pack(const float* x, int64_t step, int64_t stride, int64_t k, int64_t size, int64_t width,
          float* to) {
  for (int64_t i0 = 0; i0 < size; i0 += width) {
    const int64_t used = std::min(width, size - i0);
    for (int64_t p = 0; p < k; ++p, to += width) {
      for (int64_t i = 0; i < used; ++i) to[i] = x[p * step + (i0 + i) * stride];
      std::fill(to + used, to + width, 0.0f);
    }
  }
}

}  // namespace

void grid_products(int64_t m, int64_t n, int64_t examples, int64_t terms, MatrixRef a, MatrixRef b,
                   double* c, int64_t ldc, bool accumulate) {
  static const Kernel kernel = runtime::kernel();
  const int64_t k = examples * terms, width = kernel.columns, rows = ceil_div(m, kRows) * kRows,
                columns = ceil_div(n, width) * width;
  const Buffer packed =
      Buffer::allocate((rows + columns) * k * static_cast<int64_t>(sizeof(float)) + 64);
  auto* pb = reinterpret_cast<float*>(packed.data());
  float* pa = pb + columns * k;
  pack(reinterpret_cast<const float*>(a.data), a.col_stride, a.row_stride, k, m, kRows, pa);
  pack(reinterpret_cast<const float*>(b.data), b.row_stride, b.col_stride, k, n, width, pb);
  uint32_t unit = 0;
  std::memcpy(&unit, &kRound, sizeof(unit));
  const auto bias = static_cast<uint32_t>(examples) * unit;
  alignas(64) uint32_t sums[kRows * 32];
  for (int64_t j0 = 0; j0 < n; j0 += width)
    for (int64_t i0 = 0; i0 < m; i0 += kRows) {
      kernel.block(examples, terms, pa + i0 * k, pb + j0 * k, sums);
      for (int64_t i = i0; i < std::min(m, i0 + kRows); ++i)
        for (int64_t j = j0; j < std::min(n, j0 + width); ++j) {
          const auto sum = static_cast<int32_t>(sums[(i - i0) * width + (j - j0)] - bias);
          double& to = c[i * ldc + j];
          to = accumulate ? to + sum : sum;
        }
    }
}

}  // namespace tessera::runtime
