// The naive evaluator: runs any Function on host arrays, op by op, through OpDef::evaluate. Slow
// and plain: the oracle that transforms, partitions and compiled code are tested against.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/function.h"
#include "tessera/mesh/mesh.h"

namespace tessera {

// A Function of global shapes. Manual computations in it are simulated on every device of their
// mesh (which may be abstract).
std::vector<Literal> evaluate(const ir::Function& function, std::span<const Literal> inputs);

// One literal a device, in the mesh's order.
using DeviceLiterals = std::vector<Literal>;

// A Function of local shapes with explicit collectives, as the partitioner makes it:
// inputs[k][device] to results[r][device].
std::vector<DeviceLiterals> evaluate_spmd(const ir::Function& function,
                                          const std::vector<DeviceLiterals>& inputs,
                                          const Mesh& mesh);

}  // namespace tessera
