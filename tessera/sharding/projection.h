// Projection: the axes by which a tensor's sharding shards each factor of an op.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::sharding {

// The axes of a dimension are assigned to its factors, major first. A factor inside a dimension
// takes only axes that divide it; the minor-most takes the rest. Example: a dimension (a: 2, b: 6)
// sharded by axes of sizes (2, 3): a gets the first, b the second; sharded by one axis of size 4: a
// gets nothing (4 does not divide 2) and no factor of the dimension can take more.
class Projection {
 public:
  // `open`: the dimensions that may take more axes.
  Projection(const Factors& factors, const TensorFactors& tensor, const DimAtoms& dims,
             const std::vector<char>& open, const AtomMesh& mesh);
  const AtomList& atoms(int factor) const { return atoms_[factor]; }
  // Returns whether axes may follow: the factors before it in its dimension are sharded to single
  // elements and those after it are not sharded.
  bool usable(int factor) const { return usable_[factor]; }

 private:
  std::vector<AtomList> atoms_;
  std::vector<char> usable_;
};

// Returns whether a factor is in results alone: elements of the operands are repeated along it.
bool repeats_operands(const Factors& factors);

}  // namespace tessera::sharding
