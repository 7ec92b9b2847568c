// Padding between elements, as elements and padding side by side: positions with equal remainders by the
// distance of the elements are a column, one of which has the elements, the others the padding.
//
//   pad(x, 0, low 1, interior 2)    0 a 0 0 b 0 0 c
//   columns                         0 0 0, a b c, 0 0 0
//
// Kernels store short rows of columns with whole vectors (fusion/short_rows.h), where otherwise every
// lane would ask whether it is an element.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of pad (ops/core/unroll_rule.h): null if there is no padding between elements, or if
// rows of many elements lie between it, which vectors need not be divided for.
FlatFn unrolled_pad(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
