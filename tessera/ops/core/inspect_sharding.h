// inspect_sharding: calls a host function with the sharding of its operand
// (jax.debug.inspect_array_sharding). Programs that are read may contain it; the plugin calls the
// function when the program is compiled (plugin/inspect_sharding.h).
#pragma once

#include <cstdint>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// The op's result is its operand, and no op reads it.
struct InspectShardingParams {
  int64_t function = 0, data = 0;  // pointers of this process, as jaxlib writes them
};
extern const OpDef& inspect_sharding_op;

// Returns the params of an inspect_sharding; null for any other op.
const InspectShardingParams* inspect_sharding_of(const ir::Op& op);

// Returns whether the op is an inspect_sharding or a sharding_group (sharding_group.h). Such an op
// has an effect on the compiler, and none when the program runs.
bool is_about_sharding(const ir::Op& op);

}  // namespace tessera::ops
