// Slices of arrays at positions that are known while tracing (slice) or only at run time
// (dynamic_*), as in jax.lax. If a start index would put the slice outside of the array, it is
// moved inside. Negative ones count from the end, as in JAX.
//
// All functions throw UserError for axes that do not exist and slices larger than the array.
#pragma once

#include <vector>

#include "tessera/ir/array.h"

namespace tessera {

// Returns the elements start, start + stride, ... below limit, in each dimension.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides = {});
// Does the same along one axis. Negative bounds count from the end. (jax.lax has the stride before
// the axis.)
Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t axis = 0,
                   int64_t stride = 1);
// Returns x[index] along one axis.
Array index_in_dim(const Array& x, int64_t index, int64_t axis = 0, bool keepdims = true);

// Returns the slice of these sizes at `starts`, one integer scalar for each dimension.
Array dynamic_slice(const Array& x, const std::vector<Array>& starts, const Shape& sizes);
Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t axis = 0);
Array dynamic_index_in_dim(const Array& x, const Array& index, int64_t axis = 0,
                           bool keepdims = true);
// Returns x with `update` written at `starts`. `update` has x's rank and is converted to x's dtype.
Array dynamic_update_slice(const Array& x, const Array& update, const std::vector<Array>& starts);
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t axis = 0);
// Does the same; `update` may lack the axis.
Array dynamic_update_index_in_dim(const Array& x, const Array& update, const Array& index,
                                  int64_t axis = 0);

}  // namespace tessera
