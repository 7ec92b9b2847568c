// DotShape: any dot_general as batches of matrix products. It computes strides, joins dimensions,
// and decides whether an operand must be packed first because its dimensions cannot be joined.
//
// Example: lhs (b, i, h, d), rhs (b, j, h, d), batch {0, 2}, contract {3} are B = b * h products of
// (i, d) by (d, j). The rows of lhs are h * d elements apart, so nothing is packed.
//
// Example: lhs (b, k, i), rhs (k, j), contract {1}. The rows b and i of lhs cannot be joined, since
// k is between them. If the sizes i, j and k are small, these are b products of (i, k) by (k, j).
// Otherwise lhs is packed as (b, i, k), and they are one product.
#pragma once

#include <vector>

#include "tessera/fusion/schedule.h"

namespace tessera::runtime {

// One operand as `batch` matrices of rows x cols. Strides are in elements; row_stride or col_stride
// is 1.
struct DotOperand {
  int64_t row_stride = 0, col_stride = 0;
  std::vector<int64_t> batch_offsets;  // the first element of each product's matrix
  // If not empty, the operand is first copied to a dense (batch, rows, cols). These are the extents
  // in that order, and their strides in the operand.
  Shape pack_extents;
  Dims pack_strides;
  bool packed() const { return !pack_extents.empty(); }
};

struct DotShape {
  int64_t batch = 1, m = 1, n = 1, k = 1;
  DotOperand lhs, rhs;  // (m, k) and (k, n)
};

// `dtype` is that of the operands' elements.
DotShape dot_shape(const DotStep& step, const Shape& lhs, const Shape& rhs, DType dtype);

}  // namespace tessera::runtime
