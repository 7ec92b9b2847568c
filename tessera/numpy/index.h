// Parts of arrays at places that are known while tracing (slice) or only at run time (dynamic_*),
// as in jax.lax. Starts that would leave the array are moved into it; negative ones count from the
// end, as in JAX.
//
// Errors, of all: UserError for axes that do not exist and parts larger than the array.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// Elements start, start + stride, ... below limit, in each dimension.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides = {});
// Along one axis; negative bounds count from the end. (jax.lax has the stride before the axis.)
Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t axis = 0,
                   int64_t stride = 1);
// x[index] along one axis.
Array index_in_dim(const Array& x, int64_t index, int64_t axis = 0, bool keepdims = true);

// `starts`: one integer scalar a dimension.
Array dynamic_slice(const Array& x, const std::vector<Array>& starts, const Shape& sizes);
Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t axis = 0);
Array dynamic_index_in_dim(const Array& x, const Array& index, int64_t axis = 0,
                           bool keepdims = true);
// x with `update` (x's rank; converted to x's dtype) written at `starts`.
Array dynamic_update_slice(const Array& x, const Array& update, const std::vector<Array>& starts);
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t axis = 0);
// The same where `update` may lack the axis.
Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& index,
                                  int64_t axis = 0);

}  // namespace tessera
