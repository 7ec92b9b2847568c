// Computes folds of very few integers or bools, and folds of one number, by elementwise ops, one
// slice for each position of the reduced dimensions. As a fold, it would be a loop of its own
// inside the kernel. As elementwise ops, it is computed by the loop that reads its result.
//
//   reduce and (x, true), dims [1], x [n, 2]    ->    true & x[:, 0] & x[:, 1]
//
// JAX folds over the components of an index in this way, to find the indices that are outside, and
// over dimensions of one element in gradients of broadcasts.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of reduce (ops/core/unroll_rule.h). A fold by a body that may not be commutative
// is divided into parts (fold_parts.h). Of all others, null unless one array of integers is folded
// by a known kind other than argmin and argmax, or one of bools by `and` or `or`, over 1 to 4
// elements, or one of float32, float64 or complex numbers is added or multiplied over 1 element.
FlatFn unrolled_reduce(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
