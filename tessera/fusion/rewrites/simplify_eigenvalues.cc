#include "tessera/fusion/rewrites/simplify_eigenvalues.h"

#include <algorithm>

#include "tessera/ops/factor/eigh.h"

namespace tessera::fusion {

bool reads_no_eigenvectors(const Function& f, const Op& op) {
  if (op.def != &eigh_op) return false;
  const ValueId vectors = op.results[0];
  const auto has = [&](const auto& values) {
    return std::find(values.begin(), values.end(), vectors) != values.end();
  };
  return !has(f.outputs) &&
         std::none_of(f.ops.begin(), f.ops.end(), [&](const Op& o) { return has(o.operands); });
}

Op eigenvalues_of(const Op& eigh) {
  return {.def = &eigh_values_op,
          .params = eigh.params,
          .operands = eigh.operands,
          .source = eigh.source,
          .reason = eigh.reason};
}

}  // namespace tessera::fusion
