// What explain() says of why an op communicates.
#pragma once

#include <string>

#include "tessera/spmd/partition_state.h"

namespace tessera::spmd {

// Why an operand that is cut comes whole, where it is for a dimension that the op needs whole; else
// empty.
std::string gather_text(const PartitionedProgram& program, const ShardedOp& op,
                        const FactorAssignment& a, size_t k);

// "dot_general sums over dimension 1 of operand 0, which is cut over 'x'".
std::string fold_text(const PartitionedProgram& program, const Op& op, const Factors& factors,
                      const FactorAssignment& a);

}  // namespace tessera::spmd
