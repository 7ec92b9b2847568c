// merge_equal_ops: values that are computed twice from the same values are computed once.
//
// Before: a Function of any stage. Users call one function at two places (a loss and its logits),
//         and derivatives compute values again that the original function has.
// After:  calls are inlined, and of ops with equal definition, params and operands only the first
//         is left, in the function and in each of its regions. Equal collectives become one. What
//         is recomputed on purpose is behind an optimization_barrier, whose result no other op has
//         as operand; the number of ops with effects does not change.
//
// It runs before propagation (otherwise the two could be sharded differently and never be equal
// again) and after partition, where equal values have been resharded to equal shardings.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function merge_equal_ops(const Function& function);

}  // namespace tessera::sharding
