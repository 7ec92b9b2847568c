// Operands of products on a CPU's matrix tiles (AMX), copied into the order in which the tiles load
// them, as sums of bfloat16 numbers.
//
// A tile multiplies bfloat16 numbers exactly and adds in float32. A float16 number is the sum of two
// bfloat16 numbers: the number rounded, and the rest (Henry, Tang and Heinecke, "Leveraging the
// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", ARITH 2019).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"

namespace tessera::runtime {

constexpr int64_t kPanelRows = 32;  // two tiles of 16 rows
constexpr int64_t kPanelStep = 32;  // of k: the part of a row in one tile, in bfloat16
constexpr int64_t kTileBytes = 1024;

// Rows are rows of the left operand or columns of the right one. Element (i, p) of row i is at data
// + (i * row_stride + p * k_stride) elements; one of the strides is 1.
struct PanelSource {
  DType dtype;  // float16 or bfloat16
  const std::byte* data;
  int64_t row_stride, k_stride;
};
enum class PanelSide { kLeft, kRight };

// Returns how many bfloat16 numbers an element is the sum of.
constexpr int panel_pieces(DType dtype) { return dtype == float16 ? 2 : 1; }
// Returns the bytes of `rows` x `k` elements: whole panels of 32 rows, each step after step; in a
// step the pieces, largest first, in two tiles each.
int64_t panel_bytes(DType dtype, int64_t rows, int64_t k);

// Packs the elements into `out`, which is aligned to 64 bytes. Returns false, with unspecified
// content of `out`, if an element of float16 is infinite or NaN, which is no sum of two numbers.
// Call it only if cpu_has_tiles().
bool pack_panels(const PanelSource& source, PanelSide side, int64_t rows, int64_t k,
                 std::byte* out);

}  // namespace tessera::runtime
