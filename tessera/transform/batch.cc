#include "tessera/transform/batch.h"

#include "tessera/ops/core/source_scope.h"

namespace tessera::transforms {

BatchResult batch_function(const Function& f, std::span<const Array> operands,
                           std::span<const int> dims) {
  TESSERA_CHECK(operands.size() == f.inputs.size() && dims.size() == f.inputs.size(),
                "{}: {} operands for {} inputs", f.name, operands.size(), f.inputs.size());
  std::vector<Array> values(f.types.size());
  std::vector<int> at(f.types.size(), -1);
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    values[f.inputs[i]] = operands[i];
    at[f.inputs[i]] = dims[i];
  }
  std::vector<Array> x;
  std::vector<int> x_dims;
  for (const Op& op : f.ops) {
    const SourceScope source(op.source);
    x.clear();
    x_dims.clear();
    bool mapped = false;
    for (ValueId v : op.operands) {
      x.push_back(values[v]);
      x_dims.push_back(at[v]);
      mapped = mapped || at[v] >= 0;
    }
    BatchResult result;
    if (!mapped && !names_batch_axis(op)) {
      result.results = bind_op(*op.def, op.params, x);
      result.dims.assign(result.results.size(), -1);
    } else {
      if (!op.def->batch)
        fail(ErrorKind::kType, op.def->name,
             "expected an op with a batching rule under vmap, got {}{}{}", op.def->name,
             op.def->batch.why_absent ? ": " : "",
             op.def->batch.why_absent ? op.def->batch.why_absent : "; apply it outside of vmap");
      result = op.def->batch(x, x_dims, op.params);
    }
    TESSERA_CHECK(
        result.results.size() == op.results.size() && result.dims.size() == op.results.size(),
        "{}: {} results", op.def->name, result.results.size());
    for (size_t r = 0; r < op.results.size(); ++r) {
      values[op.results[r]] = std::move(result.results[r]);
      at[op.results[r]] = result.dims[r];
    }
  }
  BatchResult out;
  for (ValueId v : f.outputs) {
    out.results.push_back(values[v]);
    out.dims.push_back(at[v]);
  }
  return out;
}

}  // namespace tessera::transforms
