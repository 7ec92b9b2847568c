#include "tessera/compile/flops.h"

#include <algorithm>
#include <optional>

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/expect.h"

namespace tessera::compile {

double flops_of(const Function& f) {
  double flops = 0;
  for (const Op& op : f.ops) {
    const std::vector<Type> operands = f.types_of(op.operands), results = f.types_of(op.results);
    if (is_control_flow(op)) {
      const ControlFlow flow = control_flow_of(op);
      const std::optional<size_t> expected = expected_branch(f, op);
      double sum = 0, most = 0;
      for (size_t k = 0; k < flow.regions.size(); ++k) {
        if (expected && k != *expected) continue;
        const double mine = flops_of(*flow.regions[k]);
        sum += mine;
        most = std::max(most, mine);
      }
      flops += flow.is_loop() ? sum * static_cast<double>(flow.trip_count.value_or(1)) : most;
    } else if (op.def->flops) {
      flops += op.def->flops(operands, results, op.params);
    } else if (std::holds_alternative<Pointwise>(op.def->lower) && !operands.empty() &&
               is_inexact(results[0].dtype)) {
      flops += static_cast<double>(results[0].elements());
    }
  }
  return flops;
}

}  // namespace tessera::compile
