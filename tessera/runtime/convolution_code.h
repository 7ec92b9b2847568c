// The convolution op's compiled form: oneDNN's primitives where it has fast ones (float32 and, by
// the CPU, bfloat16; others of float16 and bfloat16 are widened to float32 first), matrix products
// over windows for the rest. Made once, when a step is made ready to run (step_code.h).
#pragma once

#include "tessera/ops/linear/convolution.h"

namespace tessera::runtime {

// Operands and result row-major; uses all threads where the caller is not
// one of several tasks.
HostCall make_convolution(const ConvolutionParams& params, const Type& lhs, const Type& rhs,
                          const Type& result);

}  // namespace tessera::runtime
