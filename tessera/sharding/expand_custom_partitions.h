// expand_custom_partitions: asks the partitioner of each custom_partitioning op how to compute the
// op, and replaces the op by that (ops/control/custom_partitioning.h).
//
// Before: a propagated Function, or one without a mesh, which is a program of one device for the
//         partitioner.
// After:  the same without such ops, also in regions. What each device computes is between the
//         borders of a manual computation over all axes of the mesh (control/manual_boundary.h), so
//         that the partitioner of the program moves operands and results to the shardings that the
//         op's partitioner chose. Example: on a mesh ('x': 8), if the op's partitioner leaves the
//         rows of a transform on their devices,
//
//   %1 = custom_partitioning(%0) : tensor<64x32xc64, [{"x"}, {}]>
//
//   %1 = full_to_shard(%0) {spec = ["x", {}]} : tensor<8x32xc64>
//   %2 = fft(%1) : tensor<8x32xc64>
//   %3 = shard_to_full(%2) {spec = ["x", {}]} : tensor<64x32xc64, [{"x"}, {}]>
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

// Throws UserError for shardings that do not fit the mesh or the shapes, and for a body that does
// not compute the parts that the shardings describe.
Function expand_custom_partitions(const Function& function);

}  // namespace tessera::sharding
