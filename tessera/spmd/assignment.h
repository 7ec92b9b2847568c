// Assignment: the axes of each factor under which one op runs on shards.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera {

struct FactorAssignment {
  std::vector<AtomList> axes;          // of each factor
  std::vector<DimAtoms> operands, results;  // the shardings that follow
  AtomSet reduced = 0;                 // axes of sharded reduction factors: the results are partial over these
};

// The current shardings of an op's tensors, and how large these are.
struct TensorSharding {
  DimAtoms dims;
  int64_t elements = 1;
};

// Keeps what the tensors agree on. Where they disagree, (factor, axes) pairs are taken greedily: those that the largest total of tensors
// already carries, then pass-through before reduction factors; need-replication and permutation factors stay whole. `pinned` (one a
// factor, or empty) is taken as it is.
FactorAssignment assign_factors(const AtomMesh& mesh, const Factors& factors, const std::vector<TensorSharding>& operands,
                                const std::vector<TensorSharding>& results, const std::vector<AtomList>& pinned);

}  // namespace tessera
