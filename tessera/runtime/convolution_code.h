// The compiled form of the convolution op: oneDNN's primitives if it has fast ones (float32 and, on
// some CPUs, bfloat16; otherwise float16 and bfloat16 are converted to float32 first), matrix
// products over windows for the rest. It is made once, when a step is prepared (step_code.h).
#pragma once

#include "tessera/ops/linear/convolution.h"

namespace tessera::runtime {

// Returns the code. Operands and result are row-major. It uses all threads unless the caller is one
// of several tasks.
HostCall make_convolution(const ConvolutionParams& params, const Type& lhs, const Type& rhs,
                          const Type& result);

}  // namespace tessera::runtime
