// Assignment: the mesh axes that shard each factor of one op.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

struct FactorAssignment {
  std::vector<AtomList> axes;               // for each factor
  std::vector<DimAtoms> operands, results;  // the shardings that follow
  AtomSet reduced = 0;  // axes of sharded reduction factors; the results are partial over these
};

// An op's tensors: their global types and shardings. Operands have the shardings that they have
// now, results those that propagation chose.
struct ShardedOp {
  const AtomMesh& mesh;
  const Factors& factors;
  std::vector<Type> operand_types, result_types;
  std::vector<DimAtoms> operands, results;
};

// The order in which assign_factors takes (factor, axes) pairs, and which factors may be sharded.
struct AssignmentOrder {
  int first = -1;  // the tensor (operands, then results) whose sharding is kept before all others
  bool shard_reductions = true;  // whether reduction factors may be sharded
  // Whether need-replication and permutation factors may be sharded (for windows.h).
  bool shard_windows = false;
  // Whether permutation factors may be sharded (for halos.h).
  bool shard_halos = false;
  // The factor that gets the axes of operands' factors that need replication; -1: no factor does.
  int takes_moved_axes = -1;
};

// Returns an assignment that keeps the shardings on which the tensors agree. If they disagree,
// (factor, axes) pairs are taken greedily: first those for which the tensors that are sharded so
// already have the most elements; if that is equal, pass-through before reduction factors.
// Need-replication and permutation factors are not sharded by default.
FactorAssignment assign_factors(const ShardedOp& op, const AssignmentOrder& order = {});

// The collectives that give partial results over some axes the wanted sharding: reduce_scatter into
// the dimensions that these axes shard next, all_reduce over the remaining axes.
struct PartialPlan {
  struct Scatter {
    int dim;
    AtomList atoms;
    int64_t bytes;
  };
  std::vector<Scatter> scatters;
  AtomSet all_reduced = 0;
  int64_t all_reduce_bytes = 0;  // that each device receives
  DimAtoms dims;                 // after these collectives
};
PartialPlan plan_partial(const AtomMesh& mesh, const Type& global, AtomSet reduced,
                         const DimAtoms& dims, const DimAtoms& wanted);

// Returns the cost of an assignment: the bytes that each device receives, and the cost of the steps
// and of the device's work, in bytes.
int64_t assignment_cost(const ShardedOp& op, const FactorAssignment& assignment);

// Returns the assignment under which the op costs least: the bytes of resharding operands,
// completing partial results and resharding results, and the work of each device. If no operand has
// to move and no result is partial, it is that of assign_factors.
FactorAssignment choose_assignment(const ShardedOp& op);
// Returns whether `chosen` moves operands though the op could run without moving them, with partial
// results.
bool moves_before_sum(const ShardedOp& op, const FactorAssignment& chosen);

// If operands are sharded along a factor that needs replication, returns the cheapest one of
// `chosen` and the assignments that shard another factor during the op. Example: a sort along the
// sharded dimension of f32[64, 64] on 8 devices takes two all_to_alls.
FactorAssignment with_moved_axes(const ShardedOp& op, FactorAssignment chosen);

}  // namespace tessera::spmd
