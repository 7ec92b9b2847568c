// Operands of products on a CPU's matrix tiles (AMX), copied into the order in which the tiles load
// them, as sums of bfloat16 numbers.
//
// A tile multiplies bfloat16 numbers exactly and adds in float32. A float32 number is the sum of
// three bfloat16 numbers, and a float16 number of two: the number rounded, what that leaves
// rounded, and the rest (Henry, Tang and Heinecke, "Leveraging the bfloat16 Artificial Intelligence
// Datatype For Higher-Precision Computations", ARITH 2019). Six of the nine products of such sums
// lose at most 2^-24 of the whole: no more than one rounding to float32 does.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"

namespace tessera::runtime {

constexpr int64_t kPanelRows = 32;  // two tiles of 16 rows
constexpr int64_t kPanelStep = 32;  // of k: what one tile holds of a row, in bfloat16
constexpr int64_t kTileBytes = 1024;

// Rows are rows of the left operand or columns of the right one. Element (i, p) of row i is at
// data + (i * row_stride + p * k_stride) elements; one of the strides is 1.
struct PanelSource {
  DType dtype;  // float32, float16 or bfloat16
  const std::byte* data;
  int64_t row_stride, k_stride;
};
enum class PanelSide { kLeft, kRight };

// Of how many bfloat16 numbers an element is the sum.
constexpr int panel_pieces(DType dtype) { return dtype == float32 ? 3 : dtype == float16 ? 2 : 1; }
// Of `rows` x `k` elements: whole panels of 32 rows, each step after step; in a step the pieces,
// largest first, in two tiles each.
int64_t panel_bytes(DType dtype, int64_t rows, int64_t k);

// What came of a packing: the packed numbers are the elements times 2^scale. If the elements span
// too many powers of two for that, or one is infinite or NaN, they do not fit and `out` is of no
// use.
struct PackedPanels {
  bool fit;
  int scale;
};
// `out`: aligned to 64 bytes. Only where cpu_has_tiles().
PackedPanels pack_panels(const PanelSource& source, PanelSide side, int64_t rows, int64_t k,
                         std::byte* out);

}  // namespace tessera::runtime
