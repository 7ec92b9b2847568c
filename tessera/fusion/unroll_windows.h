// unroll_windows: the same function, in which ops over small windows are elementwise ops on slices,
// one slice for each place in a window. Kernels compute those with whole vectors, and together with
// the ops around them; what is left are the windows for which a library is the better choice.
//
// Before: any partitioned function. After: no op that its unroll rule (ops/core/unroll_rule.h)
// unrolls: folds (ops/reductions/unroll_folds.h), selections (unroll_selection.h) and convolutions
// (ops/linear/unroll_convolution.h).
//
// For example, a maximum over windows of 2 along a vector of 8,
//
//   y = reduce_window max (x, -inf), size 2, stride 2
//
// becomes
//
//   y = max(max(-inf, x[0:7:2]), x[1:8:2])
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function unroll_windows(const Function& function);

}  // namespace tessera::fusion
