// Projection: the axes of a tensor's sharding, assigned to the factors of an op.
#pragma once

#include <vector>

#include "tessera/ir/factors.h"
#include "tessera/sharding/atoms.h"

namespace tessera::sharding {

// The axes of a dimension are assigned to its factors, major first. A factor gets only axes that
// divide it; the minor-most factor of a dimension gets the rest. Example: for a dimension (a: 2, b:
// 6) sharded by axes of sizes (2, 3), a gets the first axis and b the second. If it is sharded by
// one axis of size 4, a gets nothing (4 does not divide 2), and no factor of the dimension can get
// more axes.
class Projection {
 public:
  // `open` marks the dimensions to which axes may be added.
  Projection(const Factors& factors, const TensorFactors& tensor, const DimAtoms& dims,
             const std::vector<char>& open, const AtomMesh& mesh);
  const AtomList& atoms(int factor) const { return atoms_[factor]; }
  // Returns whether axes may be added to the factor: earlier factors of its dimension are sharded
  // to single elements, and later ones are not sharded.
  bool usable(int factor) const { return usable_[factor]; }

 private:
  std::vector<AtomList> atoms_;
  std::vector<char> usable_;
};

// Returns whether a factor is only in results: elements of operands are repeated along it.
bool repeats_operands(const Factors& factors);

}  // namespace tessera::sharding
