// A function whose float16 and bfloat16 values are rounded wherever they are computed. Kernels keep
// more digits than these dtypes have between the operations that they fuse, and what is fused
// depends on sizes; with the roundings written out, results do not depend on it.
//
//   y: bf16 = mul(a, b)        y': bf16 = mul(a, b)
//                              y: bf16 = reduce_precision(y', e8m7)
#pragma once

#include "tessera/ir/function.h"

namespace tessera::per_example {

// Returns the function with a reduce_precision after every operation that computes a half, in the
// bodies of loops, branches and calls too. Operations that only move elements stay as they are.
Function round_halves(const Function& function);

}  // namespace tessera::per_example
