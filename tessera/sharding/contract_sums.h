// contract_sums: a sum over the batch of a batched product is one product, and a product whose result
// is only read transposed is computed so.
//
//   reduce_sum(dot(x, y; batch b), over b)     ->   dot(x, y; contracting b)
//   transpose(dot(x, y)), which swaps the two  ->   dot(y, x)
//   reduce_sum(x) of one term each             ->   reshape(x)
//
// Before: a Function with global shapes, calls inlined. The first is what a sum of per-example
//         gradients, sum(vmap(grad(loss))), is; the gradients of all examples then never exist.
// After:  the same values but for the order in which they are added up, and the sign of zeros.
//
// Runs before propagation: a product and its sum could otherwise be cut differently.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::sharding {

// Of the function and of the regions in it.
Function contract_sums(const Function& function);

}  // namespace tessera::sharding
