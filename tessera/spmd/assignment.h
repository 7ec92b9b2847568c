// Assignment: the axes of each factor under which one op runs on shards.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

struct FactorAssignment {
  std::vector<AtomList> axes;               // of each factor
  std::vector<DimAtoms> operands, results;  // the shardings that follow
  AtomSet reduced = 0;  // axes of sharded reduction factors: the results are partial over these
};

// An op's tensors: their global types, and how they are cut, the operands as they lie, the results
// as propagation wants them.
struct ShardedOp {
  const AtomMesh& mesh;
  const Factors& factors;
  std::vector<Type> operand_types, result_types;
  std::vector<DimAtoms> operands, results;
};

// Which (factor, axes) pairs assign_factors takes first.
struct AssignmentOrder {
  int first = -1;  // tensor (operands, then results) whose sharding is kept before all others
  bool shard_reductions = true;  // whether reduction factors may be cut
  // Whether need-replication and permutation factors may be cut, for windows.h.
  bool shard_windows = false;
  // Whether permutation factors may be cut, for halos.h.
  bool shard_halos = false;
  // The factor that takes the axes of operands' factors that need replication; -1: none does.
  int takes_moved_axes = -1;
};

// Keeps what the tensors agree on. Where they disagree, (factor, axes) pairs are taken greedily:
// those that the largest total of tensors already carries, then pass-through before reduction
// factors; need-replication and permutation factors stay whole.
FactorAssignment assign_factors(const ShardedOp& op, const AssignmentOrder& order = {});

// How partial results over some axes become the wanted sharding: reduce_scatter into the dimensions
// that it cuts by these axes next, all_reduce over the rest.
struct PartialPlan {
  struct Scatter {
    int dim;
    AtomList atoms;
    int64_t bytes;
  };
  std::vector<Scatter> scatters;
  AtomSet all_reduced = 0;
  int64_t all_reduce_bytes = 0;  // received by each device
  DimAtoms dims;                 // after it
};
PartialPlan plan_partial(const AtomMesh& mesh, const Type& global, AtomSet reduced,
                         const DimAtoms& dims, const DimAtoms& wanted);

// What an assignment costs: bytes each device receives, steps, and a share of its work.
int64_t assignment_cost(const ShardedOp& op, const FactorAssignment& assignment);

// The assignment under which the op costs least: bytes of resharding operands, of completing
// partial results and of giving results the shardings they shall have, and the work each device
// does. Where no operand has to move and no result is partial, that of assign_factors.
FactorAssignment choose_assignment(const ShardedOp& op);
// Whether it moves operands though the op could run on them as they lie, with partial results.
bool moves_before_sum(const ShardedOp& op, const FactorAssignment& chosen);

// Where operands are cut along a factor that needs replication, the better of `chosen` and those that
// cut them along another meanwhile: sort along the cut dimension of f32[64, 64] on 8 devices is two
// all_to_alls.
FactorAssignment with_moved_axes(const ShardedOp& op, FactorAssignment chosen);

}  // namespace tessera::spmd
