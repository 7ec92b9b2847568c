// Halos: partitions an op over windows of a sharded dimension (convolution, pooling). Each device
// gets from its neighbours exactly the rows that its windows need beyond its own.
//
// Example: a convolution with 3 taps and padding 1 over f32[64] on 8 devices. Device i computes
// rows 8 i .. 8 i + 7 from rows 8 i - 1 .. 8 i + 8: its own rows, and one row of either neighbour;
// beyond the ends of the array these are zeros. On these 10 rows it runs the op without padding.
#pragma once

#include <optional>

#include "tessera/ops/core/halo_rule.h"
#include "tessera/spmd/partition_state.h"
#include "tessera/spmd/windows.h"

namespace tessera::spmd {

struct HaloPlan {
  // One dimension of the windowed operands, in the order in which they are widened.
  struct Dim {
    ops::HaloDim halo;
    WindowPlan rows;            // how rows of each operand, and of the padding, are moved
    int64_t local = 0;          // the number of rows that a device has after that
    int64_t low = 0, high = 0;  // the padding of the op on these rows
  };
  FactorAssignment assignment;
  std::vector<Dim> dims;
  size_t operands = 0;  // the number of operands with windows
};

// Returns the plan, if it costs no more than the op under the assignment `other`.
std::optional<HaloPlan> choose_halos(const Op& op, const ShardedOp& sharded,
                                     const FactorAssignment& other);

// Returns the operands, those with windows extended by the rows that the windows need.
std::vector<Array> widen(const AtomMesh& mesh, const HaloPlan& plan, const Op& op,
                         std::vector<Array> local);
OpParams params_of_shards(const HaloPlan& plan, const Op& op);

}  // namespace tessera::spmd
