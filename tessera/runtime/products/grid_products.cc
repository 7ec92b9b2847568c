#include "tessera/runtime/products/grid_products.h"

#include <algorithm>
#include <cstring>

#include "tessera/base/instructions.h"
#include "tessera/base/shape.h"
#include "tessera/base/workspace.h"

namespace tessera::runtime {
namespace {

// 1.5 * 2^23. A number that is added to it is rounded to a whole number, which is in the low bits
// of the sum. Sums of these bits are sums of the whole numbers, modulo 2^32.
constexpr float kRound = 0x1.8p23f;

// A block of the result that stays in registers: kRows rows, and two vectors of columns. Its sums
// take half of the registers; AVX-512 has 32 of them, AVX2 has 16.
template <int lanes>
struct Vectors {
  typedef float Floats __attribute__((vector_size(4 * lanes)));
  typedef uint32_t Words __attribute__((vector_size(4 * lanes)));
  static constexpr int64_t kRows = lanes == 16 ? 8 : 4;
  static constexpr int64_t kColumns = 2 * lanes;
};
constexpr int64_t kLargestBlock = Vectors<16>::kRows * Vectors<16>::kColumns;

// Computes a block's sums over examples as [rows][columns]. a is packed as [k][rows], b as
// [k][columns]. `one_term`: each example has one term.
template <int lanes, bool one_term>
[[gnu::always_inline]] inline void block(int64_t examples, int64_t terms, const float* a,
                                         const float* b, uint32_t* out) {
  using Floats = typename Vectors<lanes>::Floats;
  using Words = typename Vectors<lanes>::Words;
  constexpr int64_t kRows = Vectors<lanes>::kRows;
  // Subtracting 0 leaves every number unchanged, but makes the compiler load a scalar into all
  // lanes by one instruction.
  const Floats zero = {}, round = kRound - zero;
  Words sums[kRows][2] = {};
  for (int64_t e = 0; e < examples; ++e) {
    if constexpr (one_term) {
      Floats y0, y1;
      std::memcpy(&y0, b, sizeof(y0));
      std::memcpy(&y1, b + lanes, sizeof(y1));
#pragma GCC unroll 8
      for (int64_t i = 0; i < kRows; ++i) {
        const Floats x = a[i] - zero;
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
          const Floats x = a[i] - zero;
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
TESSERA_IN_512_BITS("avx512f")
void block_of_16(int64_t examples, int64_t terms, const float* a, const float* b, uint32_t* out) {
  any_block<16>(examples, terms, a, b, out);
}
#endif

// Packs x [k, size] (element (p, i) at p * step + i * stride) as blocks [size / width][k][width],
// padded with zeros.
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

// Stores the sums of a block ([rows][width]), minus the bias, to an m x n part of the result.
[[gnu::always_inline]] inline void store_block(const uint32_t* sums, int64_t width, uint32_t bias,
                                               int64_t m, int64_t n, double* c, int64_t ldc,
                                               bool accumulate) {
  for (int64_t i = 0; i < m; ++i, sums += width, c += ldc) {
    const auto sum = [&](int64_t j) {
      return static_cast<double>(static_cast<int32_t>(sums[j] - bias));
    };
    if (accumulate) {
      for (int64_t j = 0; j < n; ++j) c[j] += sum(j);
    } else {
      for (int64_t j = 0; j < n; ++j) c[j] = sum(j);
    }
  }
}

using Store = void (*)(const uint32_t*, int64_t, uint32_t, int64_t, int64_t, double*, int64_t,
                       bool);

void store(const uint32_t* sums, int64_t width, uint32_t bias, int64_t m, int64_t n, double* c,
           int64_t ldc, bool accumulate) {
  store_block(sums, width, bias, m, n, c, ldc, accumulate);
}
#if defined(__x86_64__)
TESSERA_IN_512_BITS("avx512f")
void store_of_16(const uint32_t* sums, int64_t width, uint32_t bias, int64_t m, int64_t n,
                 double* c, int64_t ldc, bool accumulate) {
  if (n == Vectors<16>::kColumns)  // a constant width, so that no loop over a remainder is compiled
    return store_block(sums, width, bias, m, Vectors<16>::kColumns, c, ldc, accumulate);
  store_block(sums, width, bias, m, n, c, ldc, accumulate);
}
#endif

struct Kernel {
  Block block;
  Store store;
  int64_t rows, columns;
};
template <int lanes>
constexpr Kernel kernel_of(Block block, Store store) {
  return {block, store, Vectors<lanes>::kRows, Vectors<lanes>::kColumns};
}
Kernel kernel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return kernel_of<16>(block_of_16, store_of_16);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return kernel_of<8>(block_of_8, store);
#endif
  return kernel_of<4>(block_of_4, store);
}

}  // namespace

void grid_products(int64_t m, int64_t n, int64_t examples, int64_t terms, MatrixRef a, MatrixRef b,
                   double* c, int64_t ldc, bool accumulate) {
  static const Kernel kernel = runtime::kernel();
  const int64_t k = examples * terms, height = kernel.rows, width = kernel.columns;
  const int64_t rows = ceil_div(m, height) * height, columns = ceil_div(n, width) * width;
  const Workspace<float> packed((rows + columns) * k + 16);
  float *pb = packed.data(), *pa = pb + columns * k;
  pack(reinterpret_cast<const float*>(a.data), a.col_stride, a.row_stride, k, m, height, pa);
  pack(reinterpret_cast<const float*>(b.data), b.row_stride, b.col_stride, k, n, width, pb);
  uint32_t unit = 0;
  std::memcpy(&unit, &kRound, sizeof(unit));
  const auto bias = static_cast<uint32_t>(examples) * unit;
  alignas(64) uint32_t sums[kLargestBlock];
  for (int64_t j = 0; j < n; j += width)
    for (int64_t i = 0; i < m; i += height) {
      kernel.block(examples, terms, pa + i * k, pb + j * k, sums);
      kernel.store(sums, width, bias, std::min(height, m - i), std::min(width, n - j),
                   c + i * ldc + j, ldc, accumulate);
    }
}

}  // namespace tessera::runtime
