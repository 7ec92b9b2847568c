// Custom calls of partitioners that users registered (ops/control/custom_partitioning.h): JAX's
// custom_partitioning. Also the calls of Tessera's own partitioner of callbacks, and those that
// inspect a sharding. Each function adds the ops for the call that the reader holds, and returns
// the results.
#pragma once

#include <vector>

#include "tessera/interchange/op_format.h"

namespace tessera::interchange::foreign {

// Handles any target that is the name of a partitioner of this process.
std::vector<ValueId> custom_partitioning(OpReader& reader);
std::vector<ValueId> partitioned_callback(OpReader& reader);
std::vector<ValueId> inspect_sharding(OpReader& reader);

}  // namespace tessera::interchange::foreign
