#include "tessera/transform/batch.h"

#include <algorithm>

#include "tessera/ops/source_scope.h"

namespace tessera {
namespace {

bool names_axis(const Function& function, const std::string& axis);

// Whether the op, or one in its regions, is a collective over `axis`.
bool names_axis(const Op& op, const std::string& axis) {
  const bool region = std::holds_alternative<Control>(op.def->lower);
  if (!region && !std::holds_alternative<CollectiveLowering>(op.def->lower)) return false;
  for (const Attribute& field : op.params.fields()) {
    if (const auto* axes = std::get_if<std::vector<std::string>>(&field)) {
      if (!region && std::find(axes->begin(), axes->end(), axis) != axes->end()) return true;
    } else if (const auto* body = std::get_if<FunctionRef>(&field)) {
      if (*body && names_axis(**body, axis)) return true;
    } else if (const auto* bodies = std::get_if<std::vector<FunctionRef>>(&field)) {
      for (const FunctionRef& each : *bodies)
        if (names_axis(*each, axis)) return true;
    }
  }
  return false;
}
bool names_axis(const Function& function, const std::string& axis) {
  return std::any_of(function.ops.begin(), function.ops.end(),
                     [&](const Op& op) { return names_axis(op, axis); });
}

// A collective over the mapped axis moves data between examples, whether its operand is mapped or
// not, and so does an op with one in its regions, whatever it captures.
bool names_batch_axis(const Op& op) {
  const std::string& name = BatchAxis::current().name;
  return !name.empty() && names_axis(op, name);
}

}  // namespace

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
    std::optional<SourceScope> source;
    if (!op.source.empty()) source.emplace(op.source);
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
      result.results = tessera::bind(*op.def, op.params, x);
      result.dims.assign(result.results.size(), -1);
    } else {
      if (!op.def->batch)
        fail(ErrorKind::kType, op.def->name,
             "expected an op with a batching rule under vmap, got {}{}{}", op.def->name,
             op.def->batch.why_absent ? ": " : "",
             op.def->batch.why_absent ? op.def->batch.why_absent : "; apply it outside of vmap");
      result = op.def->batch.fn(x, x_dims, op.params);
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

}  // namespace tessera
