// Parts of an array: slice with fixed bounds, and dynamic_slice and dynamic_update_slice with
// starts that are known at run time.
#pragma once

#include <span>

#include "tessera/ir/array.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

struct SliceParams {
  Dims start, limit, strides;
};
struct DynamicSliceParams {
  Shape sizes;
};
extern const OpDef& slice_op;
// Returns the params of a slice, or null for other ops.
const SliceParams* as_slice(const Op& op);
extern const OpDef& dynamic_slice_op;
extern const OpDef& dynamic_update_slice_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the elements start, start + stride, ... below limit, in each dimension; x itself if these
// are all elements.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides = {});
// Returns the elements start, start + stride, ... below limit in one dimension, and all of the
// others.
Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t stride = 1,
                   int64_t dim = 0);
// Returns the part of x of shape `sizes` at `starts` (integer scalars of one dtype, one for each
// dimension). Starts are moved such that the part is inside of x.
Array dynamic_slice(const Array& x, std::span<const Array> starts, const Shape& sizes);
Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t dim = 0);
// Returns x with `update` written at `starts`, which are moved in the same way.
Array dynamic_update_slice(const Array& x, const Array& update, std::span<const Array> starts);
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t dim = 0);

}  // namespace tessera::lax
