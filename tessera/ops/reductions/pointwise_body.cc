#include "tessera/ops/reductions/pointwise_body.h"

#include <algorithm>

#include "tessera/ops/structural/broadcast.h"

namespace tessera::ops {
namespace {

std::vector<Array> pick(const std::vector<Array>& values, std::span<const ValueId> which) {
  std::vector<Array> out;
  for (ValueId v : which) out.push_back(values[v]);
  return out;
}

// Binds an op of a body. An op without operands is a constant, which is the same for every element.
std::vector<Array> bind_elements(const Op& op, std::span<const Array> operands,
                                 const Shape& shape) {
  std::vector<Array> results = bind_op(*op.def, op.params, operands);
  if (operands.empty())
    for (Array& x : results) x = lax::broadcast_in_dim(x, shape, {});
  return results;
}

}  // namespace

std::vector<Array> apply_body(const Function& body, std::span<const Array> args) {
  std::vector<Array> values(body.types.size());
  for (size_t k = 0; k < args.size(); ++k) values[body.inputs[k]] = args[k];
  for (const Op& op : body.ops) {
    const std::vector<Array> results =
        bind_elements(op, pick(values, op.operands), args[0].shape());
    for (size_t r = 0; r < op.results.size(); ++r) values[op.results[r]] = results[r];
  }
  return pick(values, body.outputs);
}

JvpResult jvp_body(std::string_view op_name, const Function& body, std::span<const Array> args,
                   std::span<const Array> tangents) {
  std::vector<Array> values(body.types.size()), ts(body.types.size());
  for (size_t k = 0; k < args.size(); ++k) {
    values[body.inputs[k]] = args[k];
    ts[body.inputs[k]] = tangents[k];
  }
  for (const Op& op : body.ops) {
    const std::vector<Array> x = pick(values, op.operands), t = pick(ts, op.operands);
    const bool any = std::any_of(t.begin(), t.end(), [](const Array& a) { return a.defined(); });
    if ((!x.empty() && !std::holds_alternative<Pointwise>(op.def->lower)) || (any && !op.def->jvp))
      type_error(op_name,
                 "expected a fold of pointwise operations with derivatives to differentiate, got "
                 "one with {}; write it as a loop",
                 op.def->name);
    JvpResult at =
        any ? op.def->jvp(x, t, op.params) : JvpResult{bind_elements(op, x, args[0].shape()), {}};
    at.tangents.resize(at.primals.size());
    for (size_t r = 0; r < op.results.size(); ++r) {
      values[op.results[r]] = at.primals[r];
      ts[op.results[r]] = at.tangents[r];
    }
  }
  return {pick(values, body.outputs), pick(ts, body.outputs)};
}

}  // namespace tessera::ops
