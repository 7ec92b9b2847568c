// Assignment: the mesh axes that shard each factor of one op.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

struct FactorAssignment {
  std::vector<AtomList> axes;               // of each factor
  std::vector<DimAtoms> operands, results;  // the resulting shardings
  AtomSet reduced = 0;  // axes of sharded reduction factors, over which the results are partial
};

// An op's tensors: their global types and shardings, of the operands as they are, of the results as
// propagation chose them.
struct ShardedOp {
  const AtomMesh& mesh;
  const Factors& factors;
  std::vector<Type> operand_types, result_types;
  std::vector<DimAtoms> operands, results;
};

// Which (factor, axes) pairs assign_factors takes first.
struct AssignmentOrder {
  int first = -1;  // the tensor (operands, then results) whose sharding is kept before all others
  bool shard_reductions = true;  // whether reduction factors may be sharded
  // Whether need-replication and permutation factors may be sharded, for windows.h.
  bool shard_windows = false;
  // Whether permutation factors may be sharded, for halos.h.
  bool shard_halos = false;
  // The factor that takes the axes of operands' factors that need replication; -1: none does.
  int takes_moved_axes = -1;
};

// Returns an assignment that keeps what the tensors agree on. If they disagree, (factor, axes)
// pairs are taken greedily: first those whose tensors that are sharded so already have the most
// elements, then pass-through before reduction factors. Need-replication and permutation factors
// are not sharded.
FactorAssignment assign_factors(const ShardedOp& op, const AssignmentOrder& order = {});

// How partial results over some axes become the wanted sharding: reduce_scatter into the dimensions
// that these axes shard next, all_reduce over the rest.
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

// Returns the cost of an assignment: bytes that each device receives, steps, and a share of its
// work.
int64_t assignment_cost(const ShardedOp& op, const FactorAssignment& assignment);

// Returns the assignment under which the op costs least: bytes of resharding operands, of
// completing partial results and of resharding results, and the work of each device. If no operand
// has to move and no result is partial, that is the one of assign_factors.
FactorAssignment choose_assignment(const ShardedOp& op);
// Returns whether it moves operands though the op could run without moving them, with partial
// results.
bool moves_before_sum(const ShardedOp& op, const FactorAssignment& chosen);

// If operands are sharded along a factor that needs replication, returns the cheaper one of
// `chosen` and the assignments that shard another factor meanwhile: a sort along the sharded
// dimension of f32[64, 64] on 8 devices takes two all_to_alls.
FactorAssignment with_moved_axes(const ShardedOp& op, FactorAssignment chosen);

}  // namespace tessera::spmd
