// Rounds the float16 and bfloat16 values of a function wherever they are computed. Between
// operations that are fused, kernels keep more digits than these dtypes have, and which operations
// are fused depends on sizes. With explicit roundings, results do not depend on fusion.
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
