// The naive evaluator runs any Function on host arrays, op by op, through OpDef::evaluate. It is
// slow and simple: the oracle with which transforms, partitions and compiled code are compared.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/mesh/mesh.h"

namespace tessera {

// Returns the results of a Function of global shapes. Manual computations in it are simulated on
// every device of their mesh (which may be abstract).
std::vector<Literal> evaluate(const ir::Function& function, std::span<const Literal> inputs);

// One literal for each device, in the mesh's order.
using DeviceLiterals = std::vector<Literal>;

// Returns results[r][device] for inputs[k][device] of a Function of local shapes with explicit
// collectives, as the partitioner makes it.
std::vector<DeviceLiterals> evaluate_spmd(const ir::Function& function,
                                          const std::vector<DeviceLiterals>& inputs,
                                          const Mesh& mesh);

}  // namespace tessera
