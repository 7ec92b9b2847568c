// merge_equal_ops: a value that is computed twice from the same values is computed only once.
//
// Before: a Function of any stage. Users call one function twice (for a loss and for its logits),
//         and derivatives compute values again that the original function has.
// After:  calls are inlined, and of ops with equal definition, params and operands only the first
//         remains, in the function and in each of its regions. Equal collectives become one. Values
//         that are recomputed on purpose stay: they depend on an optimization_barrier, whose result
//         no other op reads. The number of ops with effects does not change.
//
// It runs before propagation (after which equal values could be sharded differently, and never be
// equal again) and after partition, when equal values have been resharded to equal shardings.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function merge_equal_ops(const Function& function);

}  // namespace tessera::sharding
