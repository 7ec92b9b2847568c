// Computes convolutions of each feature by a kernel of its own, such as filters of signals and
// images, as sums of slices, each multiplied by an element of the kernel. Matrix products, which
// compute other convolutions, would have a single column here.
//
// The gradient by such a kernel is a sum over the pixels of all images. It is computed in the same
// way if the images are small.
//
// A convolution with a kernel about as large as the signal and few results (the derivative by a
// filter) becomes one sum for each result.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The unroll rule of convolution (ops/core/unroll_rule.h). Returns null if features are mixed, if
// oneDNN has fast code (several features in float32), if lhs is dilated, if both the kernel and the
// result of an example have many elements, or if the runtime is faster (long lines of float64).
FlatFn unrolled_convolution(const OpParams& params, std::span<const Type> operands,
                            const Type& result);

}  // namespace tessera::ops
