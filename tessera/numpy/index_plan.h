// IndexPlan: what an index expression means for an array of one shape, before anything is bound.
#pragma once

#include <vector>

#include "tessera/ir/type.h"
#include "tessera/numpy/indexing.h"
#include "tessera/ops/indexing/gather.h"

namespace tessera {

// The elements that the expression names form an array
//   [strided slices..., the common shape of the index arrays..., whole and contiguous slices...],
// the layout of gather's result; `order` brings it into NumPy's.
struct IndexPlan {
  struct Component {
    int64_t dim, start = 0;  // of the operand
    int array = -1;          // which index array
    int strided = -1;        // which strided slice
  };
  struct Strided {
    int64_t start, step, size;
  };
  std::vector<Component> components;
  std::vector<Strided> strided;
  IndexDims dims;
  Shape sizes;          // of a window
  Shape common;         // of the index arrays
  Shape layout, shape;  // of gather's result; of NumPy's, without new axes
  Dims order;           // dimension d of the latter is dimension order[d] of the former
  Dims new_axes;        // of the result
  bool basic = true;    // no index arrays
  Dims starts, limits, strides, dropped, reversed;  // basic: of slice, squeeze, rev
};

// UserError where the items do not fit an array of this type.
IndexPlan make_index_plan(const ir::Type& x, const std::vector<IndexItem>& items);

}  // namespace tessera
