// Alternatives: the programs that a function may become on its mesh. The pipeline keeps the
// cheapest.
//
// A training step takes and returns weights and optimizer state. These may be sharded only to save
// memory, over the axes that also shard the batch. If all shardings spread together, a weight's
// sharding decides how activations are sharded, and activations are sent. If the weights' shardings
// spread last, activations are sharded as the batch is: weights are gathered, and their gradients
// are reduced and scattered (ZeRO, fully sharded data parallel). Which of the two sends less
// depends on the sizes, so such a program goes through propagation and partition in both orders.
// Every other program has one alternative.
#pragma once

#include <vector>

#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera::compile {

// A function between the passes, with their other results.
struct Alternative {
  Function function;
  Function propagated;      // the function before partition; empty until then
  Partitioned partitioned;  // after partition; its function is empty, since `function` has it
};

// Returns the orders in which shardings may spread, each as the list of values that spread last:
// one order, or two if state is sharded over the axes of other inputs. Before: as for propagate().
std::vector<ValueIds> propagation_orders(const Function& function, const Mesh& mesh,
                                         const ShardingRequest& request);

// Returns the position of the alternative that costs a device least: bytes sent, and floating-point
// operations at kFlopsPerByte. If several cost the same, it is the first of them. Before:
// partitioned.
size_t cheapest(const std::vector<Alternative>& alternatives);

}  // namespace tessera::compile
