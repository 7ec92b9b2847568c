#include "tessera/runtime/products/tile_panels.h"

#include <algorithm>

#include "tessera/base/error.h"
#include "tessera/base/shape.h"
#include "tessera/ir/format.h"

#if defined(__x86_64__)
// GCC 12's own headers read vectors that they leave undefined on purpose.
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#define TESSERA_TILE_CODE __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512bf16")))
#endif

namespace tessera::runtime {

int64_t panel_bytes(DType dtype, int64_t rows, int64_t k) {
  return ceil_div(rows, kPanelRows) * ceil_div(k, kPanelStep) * 2 * kTileBytes *
         panel_pieces(dtype);
}

#if defined(__x86_64__)
namespace {

constexpr int64_t kTileRows = 16;
constexpr int64_t kAhead = 3 * kPanelStep;  // the distance in k of prefetches

TESSERA_TILE_CODE inline __m512 load(const Float16* p, __mmask16 lanes) {
  return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(lanes, p));
}
TESSERA_TILE_CODE inline __m512 load(const Bfloat16* p, __mmask16 lanes) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(lanes, p)), 16));
}

// Rounds to bfloat16, ties to even.
TESSERA_TILE_CODE inline __m512 round_to_bfloat16(__m512 x) {
  const __m512i u = _mm512_castps_si512(x);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(u, 16), _mm512_set1_epi32(1));
  const __m512i sum = _mm512_add_epi32(_mm512_add_epi32(u, _mm512_set1_epi32(0x7fff)), odd);
  return _mm512_castsi512_ps(
      _mm512_and_si512(sum, _mm512_set1_epi32(static_cast<int>(0xffff0000u))));
}

template <int kPieces>
TESSERA_TILE_CODE inline void split(__m512 x, __m512 (&pieces)[kPieces]) {
#pragma GCC unroll 4
  for (int i = 0; i + 1 < kPieces; ++i) {
    pieces[i] = round_to_bfloat16(x);
    x = _mm512_sub_ps(x, pieces[i]);
  }
  pieces[kPieces - 1] = x;
}

// Returns x. Keeps the largest bits of absolute values in `largest`, by which infinities and NaN
// are found. Numbers of one piece are not checked, since they may be infinite or NaN.
template <int kPieces>
TESSERA_TILE_CODE inline __m512 take(__m512 x, __m512i& largest) {
  if constexpr (kPieces > 1)
    largest = _mm512_max_epu32(
        largest, _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(0x7fffffff)));
  return x;
}

__mmask16 lanes_of(int64_t count) {
  return static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, 16)) - 1);
}

// Packs tiles with 32 elements, adjacent in k, of one row of the panel in each row.
template <int kPieces, class T>
TESSERA_TILE_CODE void pack_rows(const T* source, int64_t stride, int64_t rows, int64_t k,
                                 __m512i& largest, std::byte* out) {
  const __mmask16 first = lanes_of(k), second = lanes_of(k - 16);
  for (int64_t i = 0; i < kTileRows; ++i) {
    std::byte* row = out + i * 64;
    if (i >= rows) {
      for (int q = 0; q < kPieces; ++q)
        _mm512_store_si512(row + q * 2 * kTileBytes, _mm512_setzero_si512());
      continue;
    }
    const T* p = source + i * stride;
    __builtin_prefetch(p + kAhead);
    __builtin_prefetch(p + kAhead + 16);
    __m512 low[kPieces], high[kPieces];
    split<kPieces>(take<kPieces>(load(p, first), largest), low);
    split<kPieces>(take<kPieces>(load(p + (second ? 16 : 0), second), largest), high);
#pragma GCC unroll 4
    for (int q = 0; q < kPieces; ++q)
      _mm512_store_si512(row + q * 2 * kTileBytes,
                         reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(high[q], low[q])));
  }
}

// Packs tiles with pairs of elements, adjacent in k, of 16 rows of the panel in each row.
template <int kPieces, class T>
TESSERA_TILE_CODE void pack_pairs(const T* source, int64_t stride, int64_t rows, int64_t k,
                                  __m512i& largest, std::byte* out) {
  const __mmask16 lanes = lanes_of(rows);
  for (int64_t i = 0; i < kTileRows; ++i) {
    std::byte* row = out + i * 64;
    __m512 even[kPieces], odd[kPieces];
    const T* p = source + 2 * i * stride;
    __builtin_prefetch(p + kPanelStep * stride);
    __builtin_prefetch(p + (kPanelStep + 1) * stride);
    split<kPieces>(take<kPieces>(2 * i < k ? load(p, lanes) : _mm512_setzero_ps(), largest), even);
    split<kPieces>(
        take<kPieces>(2 * i + 1 < k ? load(p + stride, lanes) : _mm512_setzero_ps(), largest), odd);
#pragma GCC unroll 4
    for (int q = 0; q < kPieces; ++q)
      _mm512_store_si512(
          row + q * 2 * kTileBytes,
          _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(_mm512_castps_si512(even[q]), 16),
                                  _mm512_castps_si512(odd[q])));
  }
}

// Transposes a matrix of 16 x 16 words of 32 bits, in place.
TESSERA_TILE_CODE void transpose(std::byte* tile) {
  __m512i x[16], y[16];
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) x[i] = _mm512_load_si512(tile + i * 64);
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 2) {
    y[i] = _mm512_unpacklo_epi32(x[i], x[i + 1]);
    y[i + 1] = _mm512_unpackhi_epi32(x[i], x[i + 1]);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; i += 4) {
    x[i] = _mm512_unpacklo_epi64(y[i], y[i + 2]);
    x[i + 1] = _mm512_unpackhi_epi64(y[i], y[i + 2]);
    x[i + 2] = _mm512_unpacklo_epi64(y[i + 1], y[i + 3]);
    x[i + 3] = _mm512_unpackhi_epi64(y[i + 1], y[i + 3]);
  }
  // Here lane group g of x[4 r + c] has column 4 g + c of rows 4 r to 4 r + 3.
#pragma GCC unroll 16
  for (int c = 0; c < 4; ++c) {
    y[c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0x88);
    y[4 + c] = _mm512_shuffle_i32x4(x[c], x[4 + c], 0xdd);
    y[8 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0x88);
    y[12 + c] = _mm512_shuffle_i32x4(x[8 + c], x[12 + c], 0xdd);
  }
#pragma GCC unroll 16
  for (int c = 0; c < 4; ++c) {
    x[c] = _mm512_shuffle_i32x4(y[c], y[8 + c], 0x88);
    x[8 + c] = _mm512_shuffle_i32x4(y[c], y[8 + c], 0xdd);
    x[4 + c] = _mm512_shuffle_i32x4(y[4 + c], y[12 + c], 0x88);
    x[12 + c] = _mm512_shuffle_i32x4(y[4 + c], y[12 + c], 0xdd);
  }
#pragma GCC unroll 16
  for (int i = 0; i < 16; ++i) _mm512_store_si512(tile + i * 64, x[i]);
}

// Packs panels. Returns whether all elements are finite; always true for elements of one piece.
template <int kPieces, class T>
TESSERA_TILE_CODE bool pack(const PanelSource& source, PanelSide side, int64_t rows, int64_t k,
                            std::byte* out) {
  constexpr uint32_t kInfinity = 0x7f800000;
  const auto* data = reinterpret_cast<const T*>(source.data);
  __m512i largest = _mm512_setzero_si512();
  const bool k_is_next = source.k_stride == 1;
  const bool turn = k_is_next != (side == PanelSide::kLeft);
  for (int64_t i0 = 0; i0 < rows; i0 += kPanelRows) {
    for (int64_t p0 = 0; p0 < k; p0 += kPanelStep) {
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t i = i0 + half * kTileRows;
        const int64_t height = std::clamp<int64_t>(rows - i, 0, kTileRows);
        const T* from = height > 0 ? data + i * source.row_stride + p0 * source.k_stride : data;
        std::byte* tiles = out + half * kTileBytes;
        if (k_is_next) {
          pack_rows<kPieces>(from, source.row_stride, height, k - p0, largest, tiles);
        } else {
          pack_pairs<kPieces>(from, source.k_stride, height, height > 0 ? k - p0 : 0, largest,
                              tiles);
        }
        if (turn)
          for (int q = 0; q < kPieces; ++q) transpose(tiles + q * 2 * kTileBytes);
      }
      out += kPieces * 2 * kTileBytes;
    }
  }
  return _mm512_reduce_max_epu32(largest) < kInfinity;
}

}  // namespace

bool pack_panels(const PanelSource& source, PanelSide side, int64_t rows, int64_t k,
                 std::byte* out) {
  if (source.dtype == float16) return pack<2, Float16>(source, side, rows, k, out);
  TESSERA_CHECK(source.dtype == bfloat16, "tiles of {}", source.dtype);
  return pack<1, Bfloat16>(source, side, rows, k, out);
}

#else

bool pack_panels(const PanelSource&, PanelSide, int64_t, int64_t, std::byte*) {
  TESSERA_CHECK(false, "a CPU without tiles");
}

#endif

}  // namespace tessera::runtime
