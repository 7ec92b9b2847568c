#include "tessera/compile/custom_derivatives.h"

#include <algorithm>

#include "tessera/ir/format.h"
#include "tessera/ir/function.h"
#include "tessera/ops/core/op.h"
#include "tessera/trace/trace.h"

namespace tessera {

using namespace compile;

namespace checkpoint_policies {

CheckpointPolicy save_only_these_names(std::vector<std::string> names) {
  return {Saveable::kNames, std::move(names)};
}
CheckpointPolicy save_anything_except_these_names(std::vector<std::string> names) {
  return {Saveable::kAllButNames, std::move(names)};
}

}  // namespace checkpoint_policies

namespace internal {
namespace {

FunctionRef shared(Function function) {
  return std::make_shared<const Function>(std::move(function));
}

// Inserts `count` inputs, which the function ignores, before input `at`.
void add_unused_inputs(Function& f, size_t at, std::span<const Type> types) {
  std::vector<ValueId> ids;
  for (const Type& t : types) ids.push_back(f.add_value(t));
  f.inputs.insert(f.inputs.begin() + static_cast<int64_t>(at), ids.begin(), ids.end());
}

}  // namespace

ErasedResult checkpoint_erased(const CheckpointPolicy& policy, const ErasedCall& call,
                               const std::vector<Array>& leaves) {
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    ErasedResult result;  // its tree has the body's tracers as leaves
    const FlatFn body = [&](const std::vector<Array>& inputs) {
      result = call(inputs);
      return result.leaves;
    };
    TracedFunction function = trace_function(body, traced_types(x), "checkpoint");
    std::vector<Array> operands = x;
    operands.insert(operands.end(), function.captures.begin(), function.captures.end());
    result.leaves = bind_op(
        checkpoint_op,
        CheckpointParams{shared(remove_dead_ops(function.function)), policy.saveable, policy.names},
        operands);
    return result;
  };
  return run_under_trace("checkpoint", traced, leaves);
}

std::vector<Array> custom_jvp_flat(const FlatFn& body, const FlatFn& jvp,
                                   std::span<const Array> leaves) {
  const size_t n = leaves.size();
  std::vector<Type> types = traced_types(leaves), both = types;
  both.insert(both.end(), types.begin(), types.end());
  TracedFunction primal = trace_function(body, types, "custom_jvp"),
                 rule = trace_function(jvp, both, "jvp");
  const std::vector<Type> results = primal.function.output_types(),
                          rule_results = rule.function.output_types();
  if (rule_results.size() != 2 * results.size())
    value_error("custom_jvp",
                "expected a rule that returns {} results and as many tangents, got {} arrays",
                results.size(), rule_results.size());
  for (size_t r = 0; r < rule_results.size(); ++r) {
    const size_t of = r % results.size();
    if (!rule_results[r].same_array(results[of]))
      type_error("custom_jvp", "expected {} {} of the rule of type {}, got {}",
                 r < results.size() ? "result" : "tangent", of, describe(results[of]),
                 describe(rule_results[r]));
  }
  // The operands are the leaves, the captures of the function, and the captures of the rule. The
  // rule's inputs are all of these, then their tangents.
  std::vector<Array> operands(leaves.begin(), leaves.end());
  operands.insert(operands.end(), primal.captures.begin(), primal.captures.end());
  operands.insert(operands.end(), rule.captures.begin(), rule.captures.end());
  const std::vector<Type> of_primal = traced_types(primal.captures),
                          of_rule = traced_types(rule.captures);
  add_unused_inputs(primal.function, n + of_primal.size(), of_rule);
  std::vector<ValueId> inputs = rule.function.inputs,
                       ordered(inputs.begin(), inputs.begin() + static_cast<int64_t>(n));
  for (const Type& t : of_primal) ordered.push_back(rule.function.add_value(t));
  ordered.insert(ordered.end(), inputs.begin() + static_cast<int64_t>(2 * n), inputs.end());
  ordered.insert(ordered.end(), inputs.begin() + static_cast<int64_t>(n),
                 inputs.begin() + static_cast<int64_t>(2 * n));
  for (const auto* captured : {&of_primal, &of_rule})
    for (const Type& t : *captured) ordered.push_back(rule.function.add_value(t));
  rule.function.inputs = std::move(ordered);
  return bind_op(
      custom_jvp_call_op,
      CustomJvpParams{shared(std::move(primal.function)), shared(std::move(rule.function))},
      operands);
}

std::vector<Array> custom_vjp_flat(const FlatFn& body, const FlatFn& fwd, const FlatFn& bwd,
                                   const std::function<size_t()>& num_results,
                                   std::span<const Array> leaves,
                                   const std::vector<std::string>& paths) {
  const std::vector<Type> types = traced_types(leaves);
  TracedFunction primal = trace_function(body, types, "custom_vjp"),
                 forward = trace_function(fwd, types, "fwd");
  const std::vector<Type> outs = forward.function.output_types(),
                          results = primal.function.output_types();
  const size_t n = num_results();
  if (n != results.size())
    value_error("custom_vjp", "expected a fwd with {} results, got {}", results.size(), n);
  for (size_t r = 0; r < n; ++r)
    if (!outs[r].same_array(results[r]))
      type_error("custom_vjp", "expected result {} of fwd of type {}, got {}", r,
                 describe(results[r]), describe(outs[r]));
  std::vector<Type> bwd_inputs(outs.begin() + static_cast<int64_t>(n), outs.end());
  bwd_inputs.insert(bwd_inputs.end(), outs.begin(), outs.begin() + static_cast<int64_t>(n));
  TracedFunction backward = trace_function(bwd, bwd_inputs, "bwd");
  const std::vector<Type> cts = backward.function.output_types();
  if (cts.size() != leaves.size())
    value_error("custom_vjp",
                "expected a bwd that returns {} cotangents, one a leaf of the "
                "arguments, got {}",
                leaves.size(), cts.size());
  for (size_t k = 0; k < cts.size(); ++k)
    if (is_inexact(types[k].dtype) && !cts[k].same_array(types[k]))
      type_error("custom_vjp", "expected a cotangent of the type of {}, {}, got {}", paths[k],
                 describe(types[k]), describe(cts[k]));
  // The operands are the leaves, then the captures of body, fwd and bwd. fwd returns the last of
  // these as residuals, which bwd gets before the cotangents.
  const std::vector<Type> captured[] = {traced_types(primal.captures),
                                        traced_types(forward.captures),
                                        traced_types(backward.captures)};
  std::vector<Array> operands(leaves.begin(), leaves.end());
  for (const TracedFunction* part : {&primal, &forward, &backward})
    operands.insert(operands.end(), part->captures.begin(), part->captures.end());
  add_unused_inputs(primal.function, primal.function.inputs.size(), captured[1]);
  add_unused_inputs(primal.function, primal.function.inputs.size(), captured[2]);
  add_unused_inputs(forward.function, leaves.size(), captured[0]);
  add_unused_inputs(forward.function, forward.function.inputs.size(), captured[2]);
  Function& f = forward.function;
  f.outputs.insert(f.outputs.end(), f.inputs.end() - static_cast<int64_t>(captured[2].size()),
                   f.inputs.end());
  Function& b = backward.function;
  const auto num_residuals = static_cast<int64_t>(outs.size() - n);
  std::rotate(b.inputs.begin() + num_residuals,
              b.inputs.end() - static_cast<int64_t>(captured[2].size()), b.inputs.end());
  return bind_op(custom_vjp_call_op,
                 CustomVjpParams{.primal = shared(std::move(primal.function)),
                                 .fwd = shared(std::move(forward.function)),
                                 .bwd = shared(std::move(backward.function)),
                                 .num_args = static_cast<int64_t>(leaves.size()),
                                 .num_results = static_cast<int64_t>(n)},
                 operands);
}

}  // namespace internal
}  // namespace tessera
