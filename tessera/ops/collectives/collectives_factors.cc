// Factors of the collectives. Inside a shard_map that is manual over some axes, a collective over
// these is pointwise along the others (the automatic axes), except in dimensions that it splits or
// concatenates.
#include <algorithm>

#include "tessera/ops/collectives/collectives_rules.h"

namespace tessera::ops {

Factors changed_dims_factors(const Type& operand, const Type& result,
                             std::initializer_list<int64_t> changed) {
  Factors out;
  TensorFactors from, to;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::find(changed.begin(), changed.end(), d) == changed.end()) {
      from.push_back({out.add(operand.shape[d])});
      to.push_back(from.back());
    } else {
      from.push_back({out.add(operand.shape[d], FactorKind::kNeedReplication)});
      to.push_back({out.add(result.shape[d], FactorKind::kNeedReplication)});
    }
  }
  out.operands = {from};
  out.results = {to};
  return out;
}

Factors ragged_factors(std::span<const Type> operands, std::span<const Type> results,
                       const RaggedAllToAllParams&) {
  Factors out;
  auto whole = [&](const Type& t) {
    TensorFactors dims;
    for (int64_t d : t.shape) dims.push_back({out.add(d, FactorKind::kNeedReplication)});
    return dims;
  };
  for (const Type& t : operands) out.operands.push_back(whole(t));
  out.results = {whole(results[0])};
  return out;
}

}  // namespace tessera::ops
