// Loops and branches from callables.
#include "tessera/control/make_control_flow.h"

#include <algorithm>

#include "tessera/control/control_flow_ops.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/trace/trace.h"

namespace tessera::control {
namespace {

// Adds to `carry` the axes that `results` vary over. Returns whether that changed anything.
bool widen(std::vector<Type>& carry, std::span<const Type> results) {
  bool changed = false;
  for (size_t k = 0; k < carry.size() && k < results.size(); ++k) {
    AxisNames all = axis_union(carry[k].varying, results[k].varying);
    changed = changed || all != carry[k].varying;
    carry[k].varying = std::move(all);
  }
  return changed;
}

// Traces a body whose first results are the carry, as often as needed until the axes over which the
// carry varies no longer change. The inputs of the body are `before`, the carry and `after`.
TracedFunction trace_loop_body(const FlatFn& body, const std::vector<Type>& before,
                               std::vector<Type>& carry, const std::vector<Type>& after) {
  while (true) {
    std::vector<Type> inputs = before;
    inputs.insert(inputs.end(), carry.begin(), carry.end());
    inputs.insert(inputs.end(), after.begin(), after.end());
    TracedFunction traced = trace_function(
        [&](const std::vector<Array>& x) {
          std::vector<Array> out = body(x);
          for (size_t k = 0; k < carry.size() && k < out.size(); ++k)
            out[k] = cast_varying(out[k], carry[k].varying);
          return out;
        },
        inputs, "body");
    if (!widen(carry, traced.function.output_types())) return traced;
  }
}

FunctionRef without_dead_ops(Function function) {
  return std::make_shared<const Function>(remove_dead_ops(function));
}

// Returns `function` with its last inputs, which are its captures, moved to the front.
Function captures_first(Function function, size_t num_captures) {
  std::rotate(function.inputs.begin(), function.inputs.end() - static_cast<int64_t>(num_captures),
              function.inputs.end());
  return function;
}

}  // namespace

Array cast_varying(const Array& x, const AxisNames& axes) {
  const AxisNames missing = axis_difference(axes, x.type().varying);
  return missing.empty()
             ? x
             : bind_op1(pcast_op, PcastParams{AxisEnv::current().mesh_of(missing), missing}, {x});
}

Array zero_of(const Type& type) {
  return cast_varying(lax::full(type.shape, 0, type.dtype), type.varying);
}

std::vector<Array> make_scan(const ScanSpec& spec, const FlatFn& body) {
  std::vector<Type> carry = traced_types(spec.carry), slices = traced_types(spec.xs);
  for (Type& t : slices) t.shape.erase(t.shape.begin());
  const TracedFunction traced = trace_loop_body(body, traced_types(spec.consts), carry, slices);
  std::vector<Array> operands = traced.captures;
  operands.insert(operands.end(), spec.consts.begin(), spec.consts.end());
  for (size_t k = 0; k < carry.size(); ++k)
    operands.push_back(cast_varying(spec.carry[k], carry[k].varying));
  operands.insert(operands.end(), spec.xs.begin(), spec.xs.end());
  const auto num_consts = static_cast<int64_t>(traced.captures.size() + spec.consts.size());
  return bind_op(
      scan_op,
      ScanParams{.body = without_dead_ops(captures_first(traced.function, traced.captures.size())),
                 .length = spec.length,
                 .num_consts = num_consts,
                 .num_carry = static_cast<int64_t>(carry.size()),
                 .reverse = spec.reverse},
      operands);
}

std::vector<Array> make_while(std::vector<Array> carry, const FlatFn& cond, const FlatFn& body) {
  std::vector<Type> types = traced_types(carry);
  const TracedFunction traced = trace_loop_body(body, {}, types, {});
  const TracedFunction test = trace_function(cond, types, "cond");
  // The captures of both functions are carried: each of them gets the carry, the body's captures,
  // then the condition's.
  const size_t n = carry.size();
  for (size_t k = 0; k < n; ++k) carry[k] = cast_varying(carry[k], types[k].varying);
  for (const auto* part : {&traced, &test}) {
    carry.insert(carry.end(), part->captures.begin(), part->captures.end());
    for (Type& t : traced_types(part->captures)) types.push_back(std::move(t));
  }
  Function whole = traced.function, check = test.function;
  whole.inputs.resize(n + traced.captures.size());
  std::vector<ValueId> check_captures(check.inputs.begin() + static_cast<int64_t>(n),
                                      check.inputs.end());
  check.inputs.resize(n);
  for (size_t k = n; k < types.size(); ++k) {
    const bool of_body = k < n + traced.captures.size();
    if (!of_body) whole.add_input(types[k]);
    whole.outputs.push_back(whole.inputs[k]);
    if (of_body) {
      check.add_input(types[k]);
    } else {
      check.inputs.push_back(check_captures[k - n - traced.captures.size()]);
    }
  }
  std::vector<Array> results = bind_op(
      while_op, WhileParams{without_dead_ops(std::move(check)), without_dead_ops(std::move(whole))},
      carry);
  results.resize(n);
  return results;
}

std::vector<Array> make_case(const Array& index, const std::vector<FlatFn>& branches,
                             const std::vector<Array>& operands) {
  std::vector<Type> types = traced_types(operands);
  std::vector<TracedFunction> traced;
  for (const FlatFn& branch : branches) traced.push_back(trace_function(branch, types, "branch"));
  std::vector<Array> all{index};
  all.insert(all.end(), operands.begin(), operands.end());
  for (const TracedFunction& t : traced) {
    all.insert(all.end(), t.captures.begin(), t.captures.end());
    for (Type& type : traced_types(t.captures)) types.push_back(std::move(type));
  }
  // Every branch gets the operands, then the captures of all branches.
  CaseParams params;
  size_t first = operands.size();
  for (TracedFunction& t : traced) {
    Function& f = t.function;
    const std::vector<ValueId> own(f.inputs.begin() + static_cast<int64_t>(operands.size()),
                                   f.inputs.end());
    f.inputs.resize(operands.size());
    for (size_t k = operands.size(); k < types.size(); ++k) {
      if (k >= first && k < first + own.size()) {
        f.inputs.push_back(own[k - first]);
      } else {
        f.add_input(types[k]);
      }
    }
    first += own.size();
    params.branches.push_back(without_dead_ops(std::move(f)));
  }
  return bind_op(case_op, std::move(params), all);
}

}  // namespace tessera::control
