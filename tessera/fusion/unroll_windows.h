// unroll_windows: returns the same function, with ops over small windows replaced by elementwise
// ops on slices, one slice for each position in a window. Kernels compute these with whole vectors,
// together with the ops around them. Ops that a library computes faster are unchanged. Pads that
// such windows read become part of them first (simplify_windows.h).
//
// Before: any partitioned function. After: it has no op that an unroll rule
// (ops/core/unroll_rule.h) unrolls. The rules are in ops/: reductions/unroll_folds.h for folds of
// windows, unroll_selection.h for selections, unroll_reduce.h for other folds, linear/unroll_dot.h
// for products, unroll_convolution.h and product_convolution.h for convolutions, and
// structural/unroll_pad.h for pads. Loops are not unrolled here.
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
