#include "tessera/transform/derivative.h"

#include <algorithm>

#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/cotangent.h"

namespace tessera::transforms {
namespace {

[[noreturn]] void no_derivative(const Op& op, const char* kind, const char* why) {
  fail(ErrorKind::kType, op.def->name, "expected an op with a {}, got {}{}{}{}", kind, op.def->name,
       op.source.empty() ? "" : fmt::format(" (called by {})", op.source), why ? ": " : "",
       why ? why : "; apply stop_gradient to its operand if it shall count as constant");
}

// The primals and tangents of a function's values while its ops are walked.
struct DualValues {
  std::vector<Array> primals, tangents;

  DualValues(const Function& f, std::span<const Array> primal_inputs)
      : primals(f.types.size()), tangents(f.types.size()) {
    TESSERA_CHECK(primal_inputs.size() == f.inputs.size(), "{}: {} primals for {} inputs", f.name,
                  primal_inputs.size(), f.inputs.size());
    for (size_t i = 0; i < f.inputs.size(); ++i) primals[f.inputs[i]] = primal_inputs[i];
  }
  static std::vector<Array> pick(const std::vector<Array>& from, const ValueIds& ids) {
    std::vector<Array> out;
    for (ValueId v : ids) out.push_back(from[v]);
    return out;
  }
  bool any_tangent(const Op& op) const {
    return std::any_of(op.operands.begin(), op.operands.end(),
                       [&](ValueId v) { return tangents[v].defined(); });
  }
  void set(const Op& op, std::vector<Array> results, std::vector<Array> result_tangents) {
    TESSERA_CHECK(results.size() == op.results.size(), "{}: {} results", op.def->name,
                  results.size());
    TESSERA_CHECK(result_tangents.empty() || result_tangents.size() == op.results.size(),
                  "{}: {} tangents", op.def->name, result_tangents.size());
    for (size_t r = 0; r < results.size(); ++r) {
      primals[op.results[r]] = std::move(results[r]);
      if (result_tangents.empty() || !result_tangents[r].defined()) continue;
      const Type &value = primals[op.results[r]].type(), &tangent = result_tangents[r].type();
      TESSERA_CHECK(value.same_array(tangent), "{}: tangent {} of a value {}", op.def->name,
                    describe(tangent), describe(value));
      tangents[op.results[r]] = std::move(result_tangents[r]);
    }
  }
};

}  // namespace

JvpResult jvp_function(const Function& f, std::span<const Array> primals,
                       std::span<const Array> tangents) {
  DualValues values(f, primals);
  for (size_t i = 0; i < tangents.size(); ++i) values.tangents[f.inputs[i]] = tangents[i];
  for (const Op& op : f.ops) {
    const SourceScope source(op.source);
    const std::vector<Array> x = DualValues::pick(values.primals, op.operands);
    if (!values.any_tangent(op)) {
      values.set(op, bind_op(*op.def, op.params, x), {});
      continue;
    }
    if (!op.def->jvp) no_derivative(op, "forward derivative", op.def->jvp.why_absent);
    JvpResult result = op.def->jvp(x, DualValues::pick(values.tangents, op.operands), op.params);
    values.set(op, std::move(result.primals), std::move(result.tangents));
  }
  JvpResult out;
  for (ValueId v : f.outputs) {
    out.primals.push_back(values.primals[v]);
    out.tangents.push_back(values.tangents[v]);
  }
  return out;
}

LinearizedFunction linearize_function(const Function& f, std::span<const Array> primals,
                                      const std::vector<bool>& has_tangent) {
  return linearize_function_with(f, primals, has_tangent, {}, {});
}

LinearizedFunction linearize_function_with(const Function& f, std::span<const Array> primals,
                                           const std::vector<bool>& has_tangent, const Dims& known,
                                           std::span<const Array> known_values) {
  TESSERA_CHECK(has_tangent.size() == f.inputs.size(), "{}: {} tangents for {} inputs", f.name,
                has_tangent.size(), f.inputs.size());
  DualValues values(f, primals);
  FunctionTrace linear(f.name, FunctionTrace::Records::kDependent);
  for (size_t i = 0; i < has_tangent.size(); ++i) {
    if (!has_tangent[i]) continue;
    values.tangents[f.inputs[i]] = linear.add_input(traced_type(primals[i]));
  }
  std::vector<int> known_at(f.types.size(), -1);
  for (size_t i = 0; i < known.size(); ++i)
    known_at[static_cast<size_t>(known[i])] = static_cast<int>(i);
  auto use_known = [&](const Op& op) {
    for (ValueId v : op.results)
      if (known_at[v] >= 0) values.primals[v] = known_values[static_cast<size_t>(known_at[v])];
  };
  for (const Op& op : f.ops) {
    const SourceScope source(op.source);
    const std::vector<Array> x = DualValues::pick(values.primals, op.operands);
    if (!values.any_tangent(op)) {
      values.set(op, linear.outside([&] { return bind_op(*op.def, op.params, x); }), {});
      use_known(op);
      continue;
    }
    const std::vector<Array> t = DualValues::pick(values.tangents, op.operands);
    if (op.def->linearize) {
      std::vector<bool> mask;
      for (const Array& tangent : t) mask.push_back(tangent.defined());
      LinearizeResult result =
          linear.outside([&] { return op.def->linearize(x, mask, op.params); });
      values.set(op, std::move(result.primals), result.tangents(t));
      use_known(op);
      continue;
    }
    if (!op.def->jvp) no_derivative(op, "derivative", op.def->jvp.why_absent);
    JvpResult result = op.def->jvp(x, t, op.params);
    for (const Array& primal : result.primals)
      TESSERA_CHECK(!linear.owns(primal), "{}: a result depends on a tangent", op.def->name);
    values.set(op, std::move(result.primals), std::move(result.tangents));
    use_known(op);
  }
  LinearizedFunction out;
  std::vector<Array> tangents;
  for (ValueId v : f.outputs) {
    out.primals.push_back(values.primals[v]);
    out.nonzero.push_back(values.tangents[v].defined());
    if (values.tangents[v].defined()) tangents.push_back(values.tangents[v]);
  }
  out.linear = linear.finish(tangents);
  out.residuals = linear.captures();
  return out;
}

Array cotangent_of(const Array& ct, const Type& like) {
  const AxisNames summed = axis_difference(ct.type().varying, like.varying),
                  cast = axis_difference(like.varying, ct.type().varying);
  const AxisEnv& env = AxisEnv::current();
  Array out = ct;
  if (!summed.empty())
    out = bind_op1(all_reduce_op, AllReduceParams{.mesh = env.mesh_of(summed), .axes = summed},
                   {out});
  if (!cast.empty()) out = bind_op1(pcast_op, PcastParams{env.mesh_of(cast), cast}, {out});
  return out;
}

std::vector<Array> transpose_function(const Function& f, const std::vector<bool>& linear,
                                      std::span<const Array> operands,
                                      std::span<const Array> cotangents) {
  TESSERA_CHECK(cotangents.size() == f.outputs.size(), "{}: {} cotangents for {} results", f.name,
                cotangents.size(), f.outputs.size());
  std::vector<Array> values(f.types.size());
  std::vector<Cotangent> cts(f.types.size());
  std::vector<char> is_linear(f.types.size(), false);
  for (size_t i = 0; i < f.inputs.size(); ++i) {
    is_linear[f.inputs[i]] = linear[i];
    if (!linear[i]) values[f.inputs[i]] = operands[i];
  }
  // Ops that do not depend on a linear input are bound unchanged.
  for (const Op& op : f.ops) {
    const bool depends = std::any_of(op.operands.begin(), op.operands.end(),
                                     [&](ValueId v) { return is_linear[v]; });
    if (depends) {
      for (ValueId v : op.results) is_linear[v] = true;
      continue;
    }
    std::vector<Array> results = bind_op(*op.def, op.params, DualValues::pick(values, op.operands));
    for (size_t r = 0; r < results.size(); ++r) values[op.results[r]] = std::move(results[r]);
  }
  auto take = [&](ValueId v) { return cts[v].at(f.types[v]); };
  for (size_t i = 0; i < cotangents.size(); ++i)
    if (is_linear[f.outputs[i]]) cts[f.outputs[i]].add(cotangents[i]);
  for (size_t i = f.ops.size(); i-- > 0;) {
    const Op& op = f.ops[i];
    if (std::none_of(op.results.begin(), op.results.end(),
                     [&](ValueId v) { return is_linear[v] && cts[v].defined(); }))
      continue;
    const SourceScope source(op.source);
    if (!op.def->transpose) no_derivative(op, "reverse derivative", op.def->transpose.why_absent);
    std::vector<Array> out, x;
    std::vector<bool> mask;
    for (ValueId v : op.results) out.push_back(take(v));
    for (ValueId v : op.operands) {
      mask.push_back(is_linear[v]);
      x.push_back(is_linear[v] ? Array(std::make_shared<AbstractData>(f.types[v])) : values[v]);
    }
    const std::vector<Array> back = op.def->transpose(out, x, mask, op.params);
    TESSERA_CHECK(back.size() == op.operands.size(), "{}: {} cotangents for {} operands",
                  op.def->name, back.size(), op.operands.size());
    for (size_t k = 0; k < back.size(); ++k) {
      if (!mask[k] || !back[k].defined()) continue;
      TESSERA_CHECK(back[k].type().same_array(f.types[op.operands[k]]),
                    "{}: cotangent {} of an operand {}", op.def->name, describe(back[k].type()),
                    describe(f.types[op.operands[k]]));
      cts[op.operands[k]].add(back[k]);
    }
  }
  std::vector<Array> result(f.inputs.size());
  for (size_t i = 0; i < f.inputs.size(); ++i)
    if (linear[i]) result[i] = take(f.inputs[i]);
  return result;
}

}  // namespace tessera::transforms
