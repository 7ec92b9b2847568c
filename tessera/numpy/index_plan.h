// IndexPlan: an index expression analysed for an array of one shape, before ops are bound.
#pragma once

#include <vector>

#include "tessera/ir/type.h"
#include "tessera/numpy/indexing.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera {

// The elements that an index expression selects form an array
//   [strided slices..., the common shape of the index arrays..., whole and contiguous slices...],
// which is the layout of gather's result. `order` permutes its dimensions into NumPy's order.
struct IndexPlan {
  struct Component {
    int64_t dim, start = 0;  // dim is of the operand
    int array = -1;          // index of the index array; -1: none
    int strided = -1;        // index of the strided slice; -1: none
  };
  struct Strided {
    int64_t start, step, size;
  };
  std::vector<Component> components;
  std::vector<Strided> strided;
  IndexDims dims;
  Shape sizes;          // of gather's windows
  Shape common;         // of the index arrays, broadcast
  Shape layout, shape;  // of gather's result; in NumPy's order, without new axes
  Dims order;           // dimension d of `shape` is dimension order[d] of `layout`
  Dims new_axes;        // positions in the result
  bool basic = true;    // there are no index arrays
  Dims starts, limits, strides, dropped, reversed;  // if basic: operands of slice, squeeze, rev
};

// Throws UserError if the items do not fit an array of this type.
IndexPlan make_index_plan(const ir::Type& x, const std::vector<IndexItem>& items);

}  // namespace tessera
