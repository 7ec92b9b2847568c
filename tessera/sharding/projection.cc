#include "tessera/sharding/projection.h"

#include <algorithm>

namespace tessera::sharding {

Projection::Projection(const Factors& factors, const TensorFactors& tensor, const DimAtoms& dims,
                       const std::vector<char>& open, const AtomMesh& mesh)
    : atoms_(factors.factors.size()), usable_(factors.factors.size(), false) {
  for (size_t d = 0; d < tensor.size(); ++d) {
    const AtomList& list = dims[d];
    size_t next = 0;
    bool reachable = true;
    for (size_t k = 0; k < tensor[d].size(); ++k) {
      const int f = tensor[d][k];
      const bool minor_most = k + 1 == tensor[d].size();
      int64_t rest = factors.factors[f].size;
      while (reachable && next < list.size() &&
             (minor_most || (rest > 1 && rest % mesh.size(list[next]) == 0))) {
        rest = std::max<int64_t>(1, rest / mesh.size(list[next]));
        atoms_[f].push_back(list[next++]);
      }
      usable_[f] = reachable && next == list.size() && open[d];
      reachable = reachable && rest == 1;
    }
  }
}

bool repeats_operands(const Factors& factors) {
  std::vector<char> in_operands(factors.factors.size(), false);
  for (const TensorFactors& tensor : factors.operands)
    for (const DimFactors& dim : tensor)
      for (int id : dim) in_operands[id] = true;
  for (size_t id = 0; id < in_operands.size(); ++id)
    if (!in_operands[id] && factors.factors[id].size > 1) return true;
  return false;
}

}  // namespace tessera::sharding
