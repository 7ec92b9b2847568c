// Masks: uneven shards are padded in storage, and the content of the padding is arbitrary. Before
// an op folds a padded dimension, the padding is replaced by values that do not change the fold.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/spmd/assignment.h"

namespace tessera::spmd {

// Returns whether padding along this op's reduction factors can be masked: the op must be a fold of
// a known kind, or a sum of products.
bool can_mask_padding(const Op& op, const Factors& factors);

// Replaces the padding of each local operand along unevenly sharded reduction factors by the fold's
// identity (0 for a contraction). Local operands must have the shardings of `assignment`.
void mask_padding(const Op& op, const ShardedOp& sharded, const FactorAssignment& assignment,
                  std::vector<Array>& local);

}  // namespace tessera::spmd
