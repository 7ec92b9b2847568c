// Operands of products on a CPU's matrix tiles (AMX), copied in the order in which the tiles load
// them, as sums of bfloat16 numbers.
//
// A tile multiplies bfloat16 numbers exactly and adds in float32. A float16 number is the sum of
// two bfloat16 numbers: the rounded number, and the rest (Henry, Tang and Heinecke, "Leveraging the
// bfloat16 Artificial Intelligence Datatype For Higher-Precision Computations", ARITH 2019).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"

namespace tessera::runtime {

constexpr int64_t kPanelRows = 32;  // two tiles of 16 rows
constexpr int64_t kPanelStep = 32;  // along k: the part of a row that is in one tile, in bfloat16
constexpr int64_t kTileBytes = 1024;

// An operand to pack. Its "rows" are the rows of the left operand, or the columns of the right one.
// Element p of row i is at data + (i * row_stride + p * k_stride) elements; one of the strides is
// 1.
struct PanelSource {
  DType dtype;  // float16 or bfloat16
  const std::byte* data;
  int64_t row_stride, k_stride;
};
enum class PanelSide { kLeft, kRight };

// Returns the number of bfloat16 numbers whose sum is an element.
constexpr int panel_pieces(DType dtype) { return dtype == float16 ? 2 : 1; }
// Returns the bytes of packed `rows` x `k` elements. Rows are in whole panels of 32, panels consist
// of steps along k, and a step has the pieces, largest first, in two tiles each.
int64_t panel_bytes(DType dtype, int64_t rows, int64_t k);

// Packs the elements into `out`, which is aligned to 64 bytes. Returns false, with unspecified
// content of `out`, if an element of float16 is infinite or NaN, since that is not a sum of two
// numbers. cpu_has_tiles() must be true.
bool pack_panels(const PanelSource& source, PanelSide side, int64_t rows, int64_t k,
                 std::byte* out);

}  // namespace tessera::runtime
