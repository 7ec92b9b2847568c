// Sharding propagation: from the shardings the user gave (inputs, constraints, outputs) to one for every value.
//
// Before: a traced Function with global shapes; some inputs, outputs and sharding_constraint ops carry shardings, on meshes that
//         hold the same devices.
// After:  every type of the function has a closed `sharding` on one mesh, program_mesh(); nothing else has changed. Values inside
//         manual computations are sharded over the axes that are not manual there.
//
// The algorithm is Shardy's (aggressive strategy, tiers over op priorities), over the factors of each op: see docs/sharding.md.
#pragma once

#include <optional>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ir/op_def.h"

namespace tessera {

struct ShardingRequest {
  // One an input / output of the function; empty: not fixed, propagation chooses.
  std::vector<std::optional<NamedSharding>> inputs, outputs;
};

// The mesh that all shardings of a program can be written on: the common refinement of the meshes they name. Meshes of one device
// order become one mesh (('x': 8) and ('a': 2, 'b': 4) refine to the latter, 'x' reads as ('a', 'b')); a mesh that orders the same
// devices otherwise is kept apart: its shardings are translated by position, and a permutation is inserted where they meet.
// UserError where meshes hold different devices.
Mesh program_mesh(const Function& function, const ShardingRequest& request);

Function propagate(const Function& function, const Mesh& mesh, const ShardingRequest& request);

}  // namespace tessera
