// Parts of an array: slice with fixed bounds, dynamic_slice and dynamic_update_slice with starts
// known at run time.
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
// Null for other ops.
const SliceParams* as_slice(const Op& op);
extern const OpDef& dynamic_slice_op;
extern const OpDef& dynamic_update_slice_op;

}  // namespace tessera::ops

namespace tessera::lax {

// Elements start, start + stride, ... below limit, in each dimension; no op where that is all of x.
Array slice(const Array& x, const Dims& start, const Dims& limit, const Dims& strides = {});
// One dimension of the above.
Array slice_in_dim(const Array& x, int64_t start, int64_t limit, int64_t stride = 1,
                   int64_t dim = 0);
// The part of this size at `starts` (integer scalars of one dtype, one a dimension), moved into
// bounds where it would leave them.
Array dynamic_slice(const Array& x, std::span<const Array> starts, const Shape& sizes);
Array dynamic_slice_in_dim(const Array& x, const Array& start, int64_t size, int64_t dim = 0);
// x with `update` written at `starts`, which are moved likewise.
Array dynamic_update_slice(const Array& x, const Array& update, std::span<const Array> starts);
Array dynamic_update_slice_in_dim(const Array& x, const Array& update, const Array& start,
                                  int64_t dim = 0);

}  // namespace tessera::lax
