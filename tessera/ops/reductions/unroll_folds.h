// Folds of windows (reduce_window) as elementwise ops: sums, products, extrema and logical folds.
//
// Windows of few elements are folded element by element, in the order of the definition. Larger
// ones are folded along one dimension after the other. Along a dimension, a long window is the fold
// of windows whose lengths are powers of two, computed for every position:
//
//   f2[i] = x[i] + x[i + 1];  f4[i] = f2[i] + f2[i + 2];  f6[i] = f4[i] + f2[i + 4]
//
// Windows over dilated elements (gradients of pooling) are folded separately for each remainder of
// their position modulo the dilation, because windows with equal remainders have their elements at
// equal positions.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of reduce_window (ops/core/unroll_rule.h): null for a cumulative fold of a known
// kind, for long windows that hardly overlap, and for a custom body, unless the body is pointwise
// and the fold cumulative (unroll_prefixes.h).
FlatFn unrolled_fold(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
