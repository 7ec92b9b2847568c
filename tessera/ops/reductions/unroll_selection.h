// select_and_scatter as elementwise ops: first the position of the element that each window
// selects, then the sum of the sources of all windows that selected an element.
//
// Windows with stride s contain an element at positions that are equal modulo s, so sums are
// computed separately for each remainder modulo s. For example, with windows of 2 and stride 2
// along a vector of 8:
//
//   place = x[0:7:2] >= x[1:8:2] ? 0 : 1
//   y = [place == 0 ? source : 0, place == 1 ? source : 0], interleaved
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of select_and_scatter (ops/core/unroll_rule.h): null if the op has large windows,
// windows with large strides, or a custom selection or scatter function.
FlatFn unrolled_selection(const OpParams& params, std::span<const Type> operands,
                          const Type& result);

}  // namespace tessera::ops
