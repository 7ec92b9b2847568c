// unroll_windows: returns the same function, with ops over small windows replaced by elementwise
// ops on slices, one slice for each position in a window. Kernels compute these with whole vectors,
// together with the ops around them. Ops that a library computes faster are unchanged. Pads that
// such windows read become part of them first (simplify_windows.h).
//
// Before: any partitioned function. After: it has no op that an unroll rule
// (ops/core/unroll_rule.h) unrolls. Loops are not unrolled here. The rules, in ops/, are for
//
//   pools, cumulative folds by a user's body       reductions/unroll_folds.h, unroll_prefixes.h
//   derivatives of pools                           reductions/unroll_selection.h
//   folds of at most four integers or bools        reductions/unroll_reduce.h
//   filters of one feature                         linear/unroll_convolution.h
//   windows that do not overlap, as a product      linear/product_convolution.h
//   outer products, sums of products over rows,
//   products of very small matrices                linear/unroll_dot.h
//   triangular equations of very small matrices    factor/triangular_solve.cc
//   LU factors of very small matrices              factor/lu.cc
//   padding between elements                       structural/unroll_pad.h
//   sorts of many short lines                      structural/unroll_sort.h
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
