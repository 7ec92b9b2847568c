// Reads the custom calls of a program that have to do with shardings: those of JAX's
// custom_partitioning, whose target is the name of a registered partitioner
// (ops/control/custom_partitioning.h); those of callbacks that get each device's part
// (ops/control/partitioned_callback.h); and those that inspect a sharding
// (ops/core/inspect_sharding.h). Each function adds the ops for the call that the reader holds, and
// returns the results.
#pragma once

#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::foreign {

// Handles any target that is the name of a partitioner of this process.
std::vector<ValueId> custom_partitioning(OpReader& reader);
std::vector<ValueId> partitioned_callback(OpReader& reader);
std::vector<ValueId> inspect_sharding(OpReader& reader);

}  // namespace tessera::interchange::foreign
