// select_and_scatter as elementwise ops: first the place of the element that each window selects, then
// the sum of the sources of all windows that selected an element.
//
// Windows s apart meet an element at places that are equal modulo s, so each remainder of the
// position by s is summed by itself. For example, windows of 2, 2 apart, along a vector of 8:
//
//   place = x[0:7:2] >= x[1:8:2] ? 0 : 1
//   y = [place == 0 ? source : 0, place == 1 ? source : 0], interleaved
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of select_and_scatter (ops/core/unroll_rule.h): null if the op has large windows,
// windows that are far apart, or a selection or a sum of its own.
FlatFn unrolled_selection(const OpParams& params, std::span<const Type> operands,
                          const Type& result);

}  // namespace tessera::ops
