// jax.debug.inspect_array_sharding: passes the shardings of values inside of a program to functions
// of JAX (tessera/ops/core/inspect_sharding.h).
#pragma once

#include "tessera/ir/function.h"

namespace tessera::plugin {

// Calls the function of each inspect_sharding in `propagated` and in its regions, in order, with
// the sharding of its operand. Throws ApiError if a function fails.
void inspect_shardings(const ir::Function& propagated);

// Returns whether the function, or a region in it, calls functions of this process while it is
// compiled. Then no other process can compile it.
bool asks_this_process(const ir::Function& function);

}  // namespace tessera::plugin
