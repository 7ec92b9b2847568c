// The reasons for communication that explain() prints.
#pragma once

#include <string>

#include "tessera/spmd/partition_state.h"

namespace tessera::spmd {

// Returns why sharded operand k is gathered, if the op needs one of its dimensions whole; otherwise
// an empty string.
std::string gather_text(const PartitionedProgram& program, const ShardedOp& op,
                        const FactorAssignment& a, size_t k);

// Returns "dot_general sums over dimension 1 of operand 0, which is sharded over 'x'".
std::string fold_text(const PartitionedProgram& program, const Op& op, const Factors& factors,
                      const FactorAssignment& a);

}  // namespace tessera::spmd
