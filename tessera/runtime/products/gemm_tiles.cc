#include "tessera/runtime/products/gemm_tiles.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "tessera/base/error.h"
#include "tessera/base/shape.h"
#include "tessera/base/workspace.h"
#include "tessera/ir/format.h"
#include "tessera/runtime/products/tile_panels.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#define TESSERA_TILE_CODE \
  __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512vl,avx512dq")))
#endif

namespace tessera::runtime {

bool tiles_allowed(const char* text) {
  const std::string_view choice = text ? text : "";
  if (choice == "off") return false;
  if (!choice.empty() && choice != "halves")
    value_error("TESSERA_MATRIX_TILES", "expected 'off' or 'halves', got '{}'; unset it for halves",
                choice);
  return true;
}

bool wants_tiles(DType dtype) {
  static const bool allowed = tiles_allowed(std::getenv("TESSERA_MATRIX_TILES"));
  return allowed && is_half(dtype) && cpu_has_tiles();
}

#if defined(__x86_64__) && defined(__linux__)
namespace {

bool ask_for_tiles() {
  constexpr unsigned kBfloat16Tiles = 1u << 22, kTiles = 1u << 24;  // cpuid 7, edx
  constexpr int64_t kRequest = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  if (!(d & kBfloat16Tiles) || !(d & kTiles)) return false;
  if (!__builtin_cpu_supports("avx512bf16") || !__builtin_cpu_supports("avx512dq") ||
      !__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl"))
    return false;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

// Configures eight tiles of 16 rows of 64 bytes: tiles 0 to 3 hold sums (a block of 32 x 32), 4 and
// 5 the left operand, 6 and 7 the right one.
struct alignas(64) TileConfig {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
class TileSession {
 public:
  TESSERA_TILE_CODE TileSession() { configure(); }
  TESSERA_TILE_CODE ~TileSession() { _tile_release(); }
  TESSERA_TILE_CODE void configure() {
    static const TileConfig config;
    _tile_loadconfig(&config);
  }
  TileSession(const TileSession&) = delete;
  TileSession& operator=(const TileSession&) = delete;
};

[[gnu::always_inline]] TESSERA_TILE_CODE inline void load_left(const std::byte* step, int piece) {
  _tile_loadd(4, step + piece * 2 * kTileBytes, 64);
  _tile_loadd(5, step + piece * 2 * kTileBytes + kTileBytes, 64);
}
[[gnu::always_inline]] TESSERA_TILE_CODE inline void load_right(const std::byte* step, int piece) {
  _tile_loadd(6, step + piece * 2 * kTileBytes, 64);
  _tile_loadd(7, step + piece * 2 * kTileBytes + kTileBytes, 64);
}
[[gnu::always_inline]] TESSERA_TILE_CODE inline void multiply_add() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  _tile_dpbf16ps(2, 5, 6);
  _tile_dpbf16ps(3, 5, 7);
}

// Computes out (32 x 32, rows `row_bytes` apart) = the product of two panels. The order of the
// products of pieces is one that loads few tiles.
template <int kPieces>
TESSERA_TILE_CODE void multiply_panels(const std::byte* a, const std::byte* b, int64_t steps,
                                       float* out, int64_t row_bytes) {
  asm volatile("" ::: "memory");  // the instructions below do not declare what memory they access
  std::byte* upper = reinterpret_cast<std::byte*>(out);
  std::byte* lower = upper + 16 * row_bytes;
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < steps; ++s) {
    load_left(a, kPieces - 1);
    load_right(b, 0);
    multiply_add();
    if constexpr (kPieces == 2) {
      load_right(b, 1);
      multiply_add();
      load_left(a, 0);
      multiply_add();
      load_right(b, 0);
      multiply_add();
    }
    a += kPieces * 2 * kTileBytes;
    b += kPieces * 2 * kTileBytes;
  }
  _tile_stored(0, upper, row_bytes);
  _tile_stored(1, upper + 64, row_bytes);
  _tile_stored(2, lower, row_bytes);
  _tile_stored(3, lower + 64, row_bytes);
  asm volatile("" ::: "memory");
}

// Prefetches the block of c to which a panel product will be added.
void prefetch_block(const float* c, int64_t ldc, int64_t m) {
  for (int64_t i = 0; i < m; ++i) {
    __builtin_prefetch(c + i * ldc, 1, 2);
    __builtin_prefetch(c + i * ldc + 16, 1, 2);
  }
}

// Stores sums to c, or adds them to c if `accumulate`.
TESSERA_TILE_CODE void store_block(const float* sums, float* c, int64_t ldc, int64_t m, int64_t n,
                                   bool accumulate) {
  const auto lanes = static_cast<uint32_t>((uint64_t{1} << n) - 1);
  const auto low = static_cast<__mmask16>(lanes), high = static_cast<__mmask16>(lanes >> 16);
  for (int64_t i = 0; i < m; ++i) {
    float* row = c + i * ldc;
    __m512 x = _mm512_load_ps(sums + i * kPanelRows),
           y = _mm512_load_ps(sums + i * kPanelRows + 16);
    if (accumulate) {
      x = _mm512_add_ps(x, _mm512_maskz_loadu_ps(low, row));
      y = _mm512_add_ps(y, _mm512_maskz_loadu_ps(high, row + 16));
    }
    _mm512_mask_storeu_ps(row, low, x);
    _mm512_mask_storeu_ps(row + 16, high, y);
  }
}

using PanelProduct = void (*)(const std::byte*, const std::byte*, int64_t, float*, int64_t);
PanelProduct panel_product(int pieces) {
  return pieces == 2 ? multiply_panels<2> : multiply_panels<1>;
}

// The sizes of what is packed at a time: a panel of the right operand stays in the first-level
// cache while it is multiplied by all panels of a block of the left operand, which stays in the
// second-level cache.
struct Blocks {
  int64_t m, n, k;
};
Blocks blocks_for(int pieces) {
  constexpr int64_t kPanelCache = 48 << 10, kBlockCache = 768 << 10, kWidest = 1024;
  const int64_t k = kPanelCache / (kPanelRows * 2 * pieces);
  return {kBlockCache / (k * 2 * pieces), kWidest, k};
}

// The nanoseconds that one thread takes for a multiply-add by tiles and by the libraries. kPackNs
// is its time to pack an element, kCallNs that of a call. All were measured on a Sapphire Rapids
// CPU.
struct Rates {
  double tiles, library;
};
// For one piece and for two.
constexpr Rates kRates[] = {{1 / 600., 1 / 170.}, {1 / 200., 1 / 55.}};
constexpr double kPackNs = 0.45, kCallNs = 300;

bool tiles_pay(int pieces, int64_t m, int64_t n, int64_t k) {
  const auto padded = [](int64_t x) { return static_cast<double>(ceil_div(x, 32) * 32); };
  const Rates& rates = kRates[pieces - 1];
  const double tiles = padded(m) * padded(n) * padded(k) * rates.tiles +
                       static_cast<double>((m + n) * k) * kPackNs + kCallNs;
  return tiles < static_cast<double>(m * n * k) * rates.library;
}

}  // namespace

bool cpu_has_tiles() {
  static const bool has = ask_for_tiles();
  return has;
}

bool gemm_tiles(GemmTypes types, int64_t m, int64_t n, int64_t k, MatrixRef a, MatrixRef b,
                float* c, int64_t ldc, bool accumulate, GemmFunction otherwise) {
  constexpr int64_t kLeastSide = 8;  // with an extent of 1 both strides may be 1
  if (types.out != float32 || !is_half(types.in)) return false;
  const int pieces = panel_pieces(types.in);
  if (std::min({m, n, k}) < kLeastSide || !tiles_pay(pieces, m, n, k) || !cpu_has_tiles())
    return false;

  const PanelProduct product = panel_product(pieces);
  const Blocks most = blocks_for(pieces);
  // k is divided into parts of about the same length.
  const int64_t parts = ceil_div(k, most.k),
                k_block = ceil_div(ceil_div(k, parts), kPanelStep) * kPanelStep;
  const int64_t m_block = std::min(most.m, ceil_div(m, kPanelRows) * kPanelRows),
                n_block = std::min(most.n, ceil_div(n, kPanelRows) * kPanelRows);
  const int64_t left_bytes = panel_bytes(types.in, m_block, k_block),
                panel = panel_bytes(types.in, kPanelRows, k_block);
  const Workspace<std::byte> panels(left_bytes + panel_bytes(types.in, n_block, k_block));
  std::byte* left = panels.data();
  std::byte* right = left + left_bytes;
  constexpr int64_t kFloat = sizeof(float);
  alignas(64) float sums[kPanelRows * kPanelRows];

  TileSession session;
  const int64_t size = itemsize(types.in);
  for (int64_t j0 = 0; j0 < n; j0 += n_block) {
    const int64_t nb = std::min(n_block, n - j0);
    for (int64_t k0 = 0; k0 < k; k0 += k_block) {
      const int64_t kb = std::min(k_block, k - k0), steps = ceil_div(kb, kPanelStep);
      const int64_t step_bytes = panel / (k_block / kPanelStep);
      const MatrixRef x = b.shifted(k0, j0, size);
      const bool right_fits = pack_panels({types.in, x.data, x.col_stride, x.row_stride},
                                          PanelSide::kRight, nb, kb, right);
      const bool add = accumulate || k0 > 0;
      for (int64_t i0 = 0; i0 < m; i0 += m_block) {
        const int64_t mb = std::min(m_block, m - i0);
        const MatrixRef y = a.shifted(i0, k0, size);
        float* block = c + i0 * ldc + j0;
        if (!right_fits || !pack_panels({types.in, y.data, y.row_stride, y.col_stride},
                                        PanelSide::kLeft, mb, kb, left)) {
          otherwise(types, mb, nb, kb, y, x, reinterpret_cast<std::byte*>(block), ldc, add);
          session.configure();  // the library may have used tiles, too
          continue;
        }
        for (int64_t j = 0; j < nb; j += kPanelRows)
          for (int64_t i = 0; i < mb; i += kPanelRows) {
            const int64_t rows = std::min(kPanelRows, mb - i), cols = std::min(kPanelRows, nb - j);
            float* to = block + i * ldc + j;
            const std::byte* x_panel = left + i / kPanelRows * steps * step_bytes;
            const std::byte* y_panel = right + j / kPanelRows * steps * step_bytes;
            prefetch_block(to, ldc, rows);
            if (!add && rows == kPanelRows && cols == kPanelRows) {
              product(x_panel, y_panel, steps, to, ldc * kFloat);
            } else {
              product(x_panel, y_panel, steps, sums, kPanelRows * kFloat);
              store_block(sums, to, ldc, rows, cols, add);
            }
          }
      }
    }
  }
  return true;
}

#else

bool cpu_has_tiles() { return false; }
bool gemm_tiles(GemmTypes, int64_t, int64_t, int64_t, MatrixRef, MatrixRef, float*, int64_t, bool,
                GemmFunction) {
  return false;
}

#endif

}  // namespace tessera::runtime
