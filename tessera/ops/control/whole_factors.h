// whole_factors: the factors (ir/factors.h) of an op that needs whole arrays on every device, such
// as a call of a host function or of a native function.
#pragma once

#include <span>

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// Returns factors by which no dimension of an operand or a result may be sharded.
inline Factors whole_factors(std::span<const Type> operands, std::span<const Type> results) {
  Factors out;
  const auto add = [&](std::span<const Type> types, std::vector<TensorFactors>& to) {
    for (const Type& type : types) {
      TensorFactors dims;
      for (int64_t n : type.shape) dims.push_back({out.add(n, FactorKind::kNeedReplication)});
      to.push_back(std::move(dims));
    }
  };
  add(operands, out.operands);
  add(results, out.results);
  return out;
}

}  // namespace tessera::ops
