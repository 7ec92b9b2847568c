// Folds of windows (reduce_window) as elementwise ops: sums, products, extrema and logical folds.
//
// Windows of few elements are folded place by place, in the order of the definition. Larger ones are
// folded along one dimension after the other. Along a dimension, long windows are put together from
// windows whose lengths are powers of two, so that they slide:
//
//   f2[i] = x[i] + x[i + 1];  f4[i] = f2[i] + f2[i + 2];  f6[i] = f4[i] + f2[i + 4]
//
// Windows over dilated elements (gradients of pools) are folded for each remainder of the position
// by the dilation, since those with equal remainders have their elements at equal places.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of reduce_window (ops/core/unroll_rule.h): null if the op has a cumulative fold of a
// known kind, long windows that hardly overlap, or a body of its own, except if that is pointwise and
// the fold cumulative (unroll_prefixes.h).
FlatFn unrolled_fold(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
