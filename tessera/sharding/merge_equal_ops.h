// merge_equal_ops: what is computed twice from the same values is computed once.
//
// Before: a Function of any stage. Users call one function at two places (a loss and its logits),
//         derivatives compute values again that the function beside them has.
// After:  calls are inlined, and of ops with equal definition, params and operands the first is
//         left, in the function and in each of its regions. Equal collectives are one. What is
//         computed again on purpose stands behind an optimization_barrier, whose result no other
//         op has as operand; ops with effects stay as many as they are.
//
// Runs before propagation (otherwise the two could be cut differently and never be equal again) and
// on what partition has made, where equal values have been brought to equal shardings.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::sharding {

Function merge_equal_ops(const Function& function);

}  // namespace tessera::sharding
