// partitioned_callback: a call of a host function (host_callback.h) that gets each device's own
// parts of the operands instead of whole arrays, as in jax.debug.print(..., partitioned=True). It
// is a custom_partitioning whose partitioner leaves all arrays where they are, so that nothing
// moves.
#pragma once

#include "tessera/ops/control/custom_partitioning.h"

namespace tessera::ops {

// Returns the params of a custom_partitioning_effect_op that calls this function, once for each
// part that differs. The function's first argument is an int64 array of the extents of all other
// arguments, in order. The function has no result; the op's result is a token (ir/token_type.h).
CustomPartitioningParams partitioned_callback_params(int64_t function);

}  // namespace tessera::ops
