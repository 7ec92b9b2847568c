// Rounds the float16 and bfloat16 values of a function wherever they are computed. Kernels keep
// more digits than these dtypes have between the operations that they fuse, and what is fused
// depends on sizes; with explicit roundings, results do not depend on it.
//
//   y: bf16 = mul(a, b)        y': bf16 = mul(a, b)
//                              y: bf16 = reduce_precision(y', e8m7)
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::per_example {

// Returns the function with a reduce_precision after every operation that computes a float16 or
// bfloat16, also in the bodies of loops, branches and calls. Operations that only move elements are
// unchanged.
Function round_halves(const Function& function);

}  // namespace tessera::per_example
