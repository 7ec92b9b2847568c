// Custom calls whose target is a partitioner of users (ops/control/custom_partitioning.h): JAX's
// custom_partitioning. Also the calls of Tessera's own partitioner of callbacks, and those that ask
// for a sharding. Each function adds the ops of the call that the reader holds, and returns the
// results.
#pragma once

#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::foreign {

// For any target that a partitioner of this process has the name of.
std::vector<ValueId> custom_partitioning(OpReader& reader);
std::vector<ValueId> partitioned_callback(OpReader& reader);
std::vector<ValueId> inspect_sharding(OpReader& reader);

}  // namespace tessera::interchange::foreign
