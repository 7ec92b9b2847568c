#include "tessera/control/primal_call.h"

namespace tessera::control {

std::vector<Array> apply_and_keep(const Function& f, std::span<const Array> operands,
                                  std::vector<Array>& values) {
  values.assign(f.types.size(), Array());
  for (size_t i = 0; i < f.inputs.size(); ++i) values[f.inputs[i]] = operands[i];
  for (const Op& op : f.ops) {
    std::vector<Array> x;
    for (ValueId v : op.operands) x.push_back(values[v]);
    const std::vector<Array> results = bind_op(*op.def, op.params, x);
    for (size_t r = 0; r < results.size(); ++r) values[op.results[r]] = results[r];
  }
  std::vector<Array> out;
  for (ValueId v : f.outputs) out.push_back(values[v]);
  return out;
}

}  // namespace tessera::control
