// Chooses how an op that moves rows across the shards of a dimension (slice, pad, reverse,
// concatenate) is partitioned: by sending rows to where they are needed (windows.h), or like any
// other op.
#pragma once

#include <optional>

#include "tessera/spmd/partition_state.h"
#include "tessera/spmd/windows.h"

namespace tessera::spmd {

struct WindowChoice {
  WindowPlan plan;
  WindowRequest request;
  // The operands of the request: those of the op, or those of slices and reversals that only this
  // op reads.
  ValueIds sources;
};

// Returns the cheapest plan that sends rows, if it costs no more than the op under the assignment
// `other`.
std::optional<WindowChoice> choose_windows(const LocalValues& values, const Op& op,
                                           const ShardedOp& sharded, const FactorAssignment& other);

}  // namespace tessera::spmd
