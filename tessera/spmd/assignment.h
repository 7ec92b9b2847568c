// Assignment: the axes of each factor under which one op runs on shards.
#pragma once

#include <span>
#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

struct FactorAssignment {
  std::vector<AtomList> axes;               // of each factor
  std::vector<DimAtoms> operands, results;  // the shardings that follow
  AtomSet reduced = 0;  // axes of sharded reduction factors: the results are partial over these
};

// The current shardings of an op's tensors, and how large these are.
struct TensorSharding {
  DimAtoms dims;
  int64_t elements = 1;
};

// Which (factor, axes) pairs assign_factors takes first.
struct AssignmentOrder {
  int first = -1;  // tensor (operands, then results) whose sharding is kept before all others
  bool cut_reductions = true;  // whether reduction factors may be cut
  // Whether need-replication and permutation factors may be cut, for windows.h.
  bool cut_windows = false;
};

// Keeps what the tensors agree on. Where they disagree, (factor, axes) pairs are taken greedily:
// those that the largest total of tensors already carries, then pass-through before reduction
// factors; need-replication and permutation factors stay whole.
FactorAssignment assign_factors(const AtomMesh& mesh, const Factors& factors,
                                const std::vector<TensorSharding>& operands,
                                const std::vector<TensorSharding>& results,
                                const AssignmentOrder& order = {});

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
int64_t assignment_cost(const AtomMesh& mesh, const Factors& factors,
                        const FactorAssignment& assignment, std::span<const Type> operand_types,
                        std::span<const Type> result_types,
                        const std::vector<TensorSharding>& operands,
                        const std::vector<TensorSharding>& results);

// The assignment under which the op costs least: bytes of resharding operands, of completing
// partial results and of giving results the shardings they shall have, and the work each device
// does. Where no operand has to move, that of assign_factors.
FactorAssignment choose_assignment(const AtomMesh& mesh, const Factors& factors,
                                   std::span<const Type> operand_types,
                                   std::span<const Type> result_types,
                                   const std::vector<TensorSharding>& operands,
                                   const std::vector<TensorSharding>& results);

}  // namespace tessera::spmd
