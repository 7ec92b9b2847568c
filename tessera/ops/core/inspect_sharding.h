// inspect_sharding: says that a function of the host wants to know how its operand is sharded
// (jax.debug.inspect_array_sharding). Programs from outside have it; the plugin calls the function
// once it has a plan (plugin/inspect_sharding.h).
#pragma once

#include <cstdint>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// Its result is its operand, and is not read.
struct InspectShardingParams {
  int64_t function = 0, data = 0;  // pointers of this process, as jaxlib writes them
};
extern const OpDef& inspect_sharding_op;

// Returns the params of an inspect_sharding; null for any other op.
const InspectShardingParams* inspect_sharding_of(const ir::Op& op);

// Returns whether the op only says or asks how its operand is sharded: an inspect_sharding, or a
// sharding_group (sharding_group.h). Such an op has an effect, but none while a program runs.
bool is_about_sharding(const ir::Op& op);

}  // namespace tessera::ops
