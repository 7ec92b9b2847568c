// window_view: the elements of all windows over an array. Windows overlap, so that an element may
// be in several of them.
//
//   y[k0, k1, ..., o0, o1, ...] = x[o0 * stride0 + k0 * dilation0, ...]
//
// The dimensions in a window come first, in front of those of the windows. A kernel that folds the
// view reads each element where it is in the operand.
#pragma once

#include "tessera/ir/array.h"
#include "tessera/ir/forward.h"

namespace tessera::ops {

struct WindowViewParams {
  Dims size, strides, dilation;  // one for each dimension of the operand
};
// Only the compiler makes this op (ops/reductions/fold_windows.h).
extern const OpDef& window_view_op;
// Returns the params of a window_view, or null for other ops.
const WindowViewParams* as_window_view(const Op& op);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns the windows of these sizes that are inside of x, `strides` apart from each other, whose
// elements are `dilation` apart.
Array window_view(const Array& x, const Dims& size, const Dims& strides, const Dims& dilation);

}  // namespace tessera::lax
