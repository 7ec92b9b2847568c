// DotShape: any dot_general as batches of matrix products. It computes strides, merges dimensions,
// and decides whether an operand must be packed first because its dimensions cannot be merged.
//
// Example: lhs (b, i, h, d), rhs (b, j, h, d), batch {0, 2}, contract {3}: B = b * h products of
// (i, d) by (d, j), the rows of lhs h * d apart: nothing is packed.
#pragma once

#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// One operand as `batch` matrices of rows x cols. Strides are in elements; row_stride or col_stride
// is 1.
struct DotOperand {
  int64_t row_stride = 0, col_stride = 0;
  std::vector<int64_t> batch_offsets;  // of each product, in elements
  // If it is not empty, the operand is first copied to a dense (batch, rows, cols): extents in that
  // order, and their strides.
  Shape pack_extents;
  Dims pack_strides;
  bool packed() const { return !pack_extents.empty(); }
};

struct DotShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  DotOperand lhs, rhs;  // (m, k) and (k, n)
};

DotShape dot_shape(const DotStep& step, const Shape& lhs, const Shape& rhs);

}  // namespace tessera::runtime
