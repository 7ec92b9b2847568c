// contract_sums: a sum over the batch of a batched product becomes one product, and a product that
// is only read transposed is computed transposed.
//
//   reduce_sum(dot(x, y; batch b), over b)        ->   dot(x, y; contracting b)
//   transpose(dot(x, y)), which swaps the two     ->   dot(y, x)
//   reduce_sum(x) of one term for each result     ->   reshape(x)
//
// Before: a Function with global shapes, calls inlined. The first rule applies to a sum of
//         per-example gradients, sum(vmap(grad(loss))): the gradients of single examples are then
//         never computed.
// After:  the same values, except for the order of sums and the sign of zeros.
//
// It runs before propagation: a product and its sum could otherwise be sharded differently.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

// Returns the function with these rules applied, also in its regions.
Function contract_sums(const Function& function);

}  // namespace tessera::sharding
