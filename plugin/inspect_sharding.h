// jax.debug.inspect_array_sharding: tells functions of JAX how values inside of a program are
// sharded (tessera/ops/core/inspect_sharding.h).
#pragma once

#include "tessera/ir/function.h"

namespace tessera::plugin {

// Calls the function of each inspect_sharding in `propagated` and in its regions, in order, with the
// sharding of its operand. Throws ApiError if one fails.
void inspect_shardings(const ir::Function& propagated);

// Returns whether the function, or a region in it, refers to functions of this process at the time
// when it is compiled: then no other process can compile it.
bool asks_this_process(const ir::Function& function);

}  // namespace tessera::plugin
