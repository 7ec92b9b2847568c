// Propagation in the order that gives the cheaper plan.
//
// What a training step takes and gives back, weights and what an optimizer keeps, may be cut only to be
// stored so: over the same axes as the batch. Propagated together, a weight's cut decides how
// activations lie, and they are sent; where weights' cuts spread last, activations lie as the batch
// does, weights are gathered and their gradients reduce_scattered (ZeRO, fully sharded data parallel).
// Which is less depends on the sizes: such a program is partitioned both ways.
#pragma once

#include <optional>

#include "tessera/sharding/propagate.h"
#include "tessera/spmd/partition.h"

namespace tessera::compile {

// A program and the plan that was made of it.
struct Plan {
  Function cut;  // after cut_lines and cut_sorts
  Partitioned partitioned;
};
struct Propagated {
  Function function;
  std::optional<Plan> plan;  // where there was a choice
};

// As propagate(), with the same requirements.
Propagated propagate_for_least(const Function& function, const Mesh& mesh,
                               const ShardingRequest& request);

}  // namespace tessera::compile
