// Computes padding between elements by columns. A column is all positions with one remainder modulo
// the distance between elements: one column has the elements, the others have padding.
//
//   pad(x, 0, low 1, interior 2)    0 a 0 0 b 0 0 c
//   columns                         0 0 0, a b c, 0 0 0
//
// Kernels store short rows of columns with whole vectors (fusion/kernels/short_rows.h), whereas a
// plain pad decides for every lane whether it is an element.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of pad (ops/core/unroll_rule.h): null if there is no padding between elements, or
// if padding separates rows of many elements, which fill whole vectors anyway.
FlatFn unrolled_pad(const OpParams& params, std::span<const Type> operands, const Type& result);

}  // namespace tessera::ops
