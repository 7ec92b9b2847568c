// Convolutions of each feature by a kernel of its own as sums of slices, each times an element of the
// kernel: filters of signals and of images. Matrix products, which compute other convolutions, would have a
// single column.
//
// A kernel as large as the signal, with few results (the derivative by a filter), becomes one sum for
// each result.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of convolution (ops/core/unroll_rule.h): null if features are mixed, if oneDNN has code for
// them (several features in float32), if an operand is dilated, or if both the kernel and the
// result have many elements.
FlatFn unrolled_convolution(const OpParams& params, std::span<const Type> operands,
                            const Type& result);

}  // namespace tessera::ops
