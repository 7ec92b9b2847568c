#include "tessera/compile/linearization.h"

#include "tessera/compile/leaf_function.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/core/constant.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/derivative.h"

namespace tessera::internal {

using namespace compile;

namespace {

// The body traced with the leaves' types, and the arrays for its inputs: the leaves, then the
// captures.
struct TracedBody {
  Function function;
  std::vector<Array> arguments;
};
TracedBody trace_body(const FlatFn& body, std::span<const Array> leaves) {
  const std::vector<Type> types = traced_types(leaves);
  TracedFunction traced = trace_function(body, types);
  TracedBody out{remove_dead_ops(traced.function), {leaves.begin(), leaves.end()}};
  for (Array& captured : traced.captures) out.arguments.push_back(std::move(captured));
  return out;
}

void expect_differentiable(std::string_view op, const Array& leaf, const std::string& path) {
  if (is_inexact(leaf.dtype())) return;
  type_error(op,
             "expected a float or complex array to differentiate by, got {} at {}; convert it, or "
             "leave it out of the differentiated arguments",
             describe(leaf.type()), path);
}

Array zeros_of(const Type& type) {
  return cotangent_of(lax::full(type.shape, 0, type.dtype), type);
}

Array cast_to(const Array& x, const AxisNames& axes) {
  return axis_subset(axes, x.type().varying) ? x : lax::pcast_varying(x, axes);
}

// Casts the marked arrays to vary over `axes`; returns whether any did not.
bool cast_all(std::vector<Array>& arrays, const std::vector<bool>& marked, const AxisNames& axes) {
  bool changed = false;
  for (size_t i = 0; i < arrays.size(); ++i) {
    if (!marked[i] || axis_subset(axes, arrays[i].type().varying)) continue;
    arrays[i] = cast_to(arrays[i], axes);
    changed = true;
  }
  return changed;
}

Linearization linearize_traced(const TracedBody& body, const std::vector<bool>& wrt) {
  std::vector<bool> mask = wrt;
  mask.resize(body.arguments.size(), false);
  LinearizedFunction linear = linearize_function(body.function, body.arguments, mask);
  Linearization out{.results = std::move(linear.primals),
                    .linear = std::move(linear.linear),
                    .residuals = std::move(linear.residuals),
                    .has_tangent = wrt,
                    .nonzero = std::move(linear.nonzero)};
  for (size_t i = 0; i < wrt.size(); ++i)
    if (wrt[i]) out.arguments.push_back(body.arguments[i].type());
  for (const Array& result : out.results) out.result_types.push_back(result.type());
  return out;
}

}  // namespace

std::vector<Array> Linearization::push(std::span<const Array> tangents) const {
  if (!Trace::current())
    return run_once(
        "jvp",
        [this](const std::vector<Array>& residual, const std::vector<Array>& t) {
          Linearization traced = *this;
          traced.residuals = residual;
          return traced.push(t);
        },
        residuals, std::vector<Array>(tangents.begin(), tangents.end()));
  std::vector<Array> inputs(tangents.begin(), tangents.end());
  inputs.insert(inputs.end(), residuals.begin(), residuals.end());
  const std::vector<Array> some = inline_function(linear, inputs);
  std::vector<Array> out;
  size_t next = 0;
  for (size_t r = 0; r < nonzero.size(); ++r)
    out.push_back(nonzero[r] ? some[next++] : zeros_of(result_types[r]));
  return out;
}

std::vector<Array> Linearization::pull(std::span<const Array> cotangents) const {
  if (!Trace::current())
    return run_once(
        "vjp",
        [this](const std::vector<Array>& residual, const std::vector<Array>& ct) {
          Linearization traced = *this;
          traced.residuals = residual;
          return traced.pull(ct);
        },
        residuals, std::vector<Array>(cotangents.begin(), cotangents.end()));
  std::vector<Array> cts;
  for (size_t r = 0; r < nonzero.size(); ++r)
    if (nonzero[r]) cts.push_back(cotangents[r]);
  std::vector<bool> is_linear(arguments.size(), true);
  is_linear.resize(linear.inputs.size(), false);
  std::vector<Array> operands(arguments.size());
  operands.insert(operands.end(), residuals.begin(), residuals.end());
  std::vector<Array> out = transpose_function(linear, is_linear, operands, cts);
  out.resize(arguments.size());
  for (size_t i = 0; i < out.size(); ++i)
    if (!out[i].defined()) out[i] = zeros_of(arguments[i]);
  return out;
}

Linearization linearize_flat(std::string_view op, const FlatFn& body, std::span<const Array> leaves,
                             const std::vector<bool>& wrt, const std::vector<std::string>& paths) {
  for (size_t i = 0; i < leaves.size(); ++i)
    if (wrt[i]) expect_differentiable(op, leaves[i], paths[i]);
  return linearize_traced(trace_body(body, leaves), wrt);
}

LinearizationRef linearize_all_flat(std::string_view op, const FlatFn& body,
                                    std::span<const Array> leaves,
                                    const std::vector<std::string>& paths) {
  return std::make_shared<const Linearization>(
      linearize_flat(op, body, leaves, std::vector<bool>(leaves.size(), true), paths));
}

const std::vector<Array>& results_of(const Linearization& at) { return at.results; }
const std::vector<Array>& residuals_of(const Linearization& at) { return at.residuals; }

LinearizationRef computed(const Linearization& at, std::vector<Array> results,
                          std::vector<Array> residuals) {
  auto out = std::make_shared<Linearization>(at);
  out->results = std::move(results);
  out->residuals = std::move(residuals);
  return out;
}

std::vector<Array> push_forward(const Linearization& at, const std::vector<Array>& tangents) {
  if (tangents.size() != at.arguments.size())
    value_error("linearize", "expected tangents of the arguments' structure, {} leaves, got {}",
                at.arguments.size(), tangents.size());
  for (size_t i = 0; i < tangents.size(); ++i)
    if (!tangents[i].type().same_array(at.arguments[i]))
      type_error("linearize", "expected a tangent of the type of leaf {}, {}, got {}", i,
                 describe(at.arguments[i]), describe(tangents[i].type()));
  return at.push(tangents);
}

std::vector<Array> pull_back(const Linearization& at, const std::vector<Array>& cotangents) {
  if (cotangents.size() != at.result_types.size())
    value_error("vjp", "expected a cotangent of the result's structure, {} leaves, got {}",
                at.result_types.size(), cotangents.size());
  for (size_t i = 0; i < cotangents.size(); ++i)
    if (!cotangents[i].type().same_array(at.result_types[i]))
      type_error("vjp", "expected a cotangent of the type of result {}, {}, got {}", i,
                 describe(at.result_types[i]), describe(cotangents[i].type()));
  return at.pull(cotangents);
}

void expect_tangents(size_t primals, size_t tangents) {
  if (primals != tangents)
    value_error("jvp", "expected tangents of the primals' structure, {} leaves, got {}", primals,
                tangents);
}

namespace {

// The results of `body`, and the gradients of the first one, a scalar, by the leaves that `wrt`
// marks.
struct FlatGradients {
  std::vector<Array> results, gradients;
};
FlatGradients value_and_grad_flat(const FlatFn& body, std::span<const Array> leaves,
                                  const std::vector<bool>& wrt,
                                  const std::vector<std::string>& paths) {
  constexpr std::string_view kOp = "grad";
  for (size_t i = 0; i < leaves.size(); ++i)
    if (wrt[i]) expect_differentiable(kOp, leaves[i], paths[i]);
  std::vector<Array> copies(leaves.begin(), leaves.end());
  TracedBody traced = trace_body(body, copies);
  Type value = traced.function.type(traced.function.outputs[0]);
  if (value.rank() != 0)
    shape_error(kOp,
                "expected a function whose result to differentiate is a scalar, got {}; reduce it "
                "(sum, mean), or use vjp or jacrev",
                describe(value));
  if (!is_floating(value.dtype))
    type_error(kOp, "expected a function with a real floating-point result, got {}{}",
               describe(value),
               is_complex(value.dtype) ? "; take its real part" : "; convert it to a float");
  // If the loss differs between devices, each device differentiates by its own copy of the
  // arguments.
  while (cast_all(copies, wrt, value.varying)) {
    traced = trace_body(body, copies);
    value = traced.function.type(traced.function.outputs[0]);
  }
  Linearization linear = linearize_traced(traced, wrt);
  std::vector<Array> cts(linear.results.size());
  const Type& result = linear.result_types[0];
  cts[0] = cotangent_of(lax::full(Shape{}, 1, result.dtype), result);
  return {std::move(linear.results), linear.pull(cts)};
}

}  // namespace

ValueAndGradients value_and_grad_erased(const ErasedCall& call, const std::vector<size_t>& argnums,
                                        const std::vector<Array>& leaves) {
  const std::vector<tree::Outline> outlines = call.argument_outlines();
  const std::vector<bool> wrt = leaves_of_arguments(outlines, argnums);
  const std::vector<std::string> paths = argument_paths(outlines);
  size_t num_results = 0;
  // The gradients follow the results.
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    ErasedResult result;
    const FlatFn body = [&](const std::vector<Array>& inputs) {
      result = call(inputs);
      return result.leaves;
    };
    FlatGradients flat = value_and_grad_flat(body, x, wrt, paths);
    num_results = flat.results.size();
    result.leaves = std::move(flat.results);
    result.leaves.insert(result.leaves.end(), flat.gradients.begin(), flat.gradients.end());
    return result;
  };
  ValueAndGradients out{run_under_trace("grad", traced, leaves), {}};
  const auto first = out.value.leaves.begin() + static_cast<ptrdiff_t>(num_results);
  out.gradients.assign(first, out.value.leaves.end());
  out.value.leaves.erase(first, out.value.leaves.end());
  return out;
}

ResultsAndTangents jvp_flat(const FlatFn& body, std::span<const Array> leaves,
                            std::span<const Array> tangents,
                            const std::vector<std::string>& paths) {
  constexpr std::string_view kOp = "jvp";
  std::vector<Array> given(tangents.begin(), tangents.end());
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Type& x = leaves[i].type();
    if (!is_inexact(x.dtype)) {
      given[i] = Array();  // an integer has no tangent
      continue;
    }
    if (!x.same_array(given[i].type()))
      type_error(kOp, "expected a tangent of the type of its primal, {}, got {} at {}", describe(x),
                 describe(given[i].type()), paths[i]);
  }
  std::vector<Array> copies(leaves.begin(), leaves.end());
  for (size_t i = 0; i < copies.size(); ++i)
    if (given[i].defined()) copies[i] = cast_to(copies[i], given[i].type().varying);
  const TracedBody traced = trace_body(body, copies);
  given.resize(traced.arguments.size());
  JvpResult result = jvp_function(traced.function, traced.arguments, given);
  ResultsAndTangents out{std::move(result.primals), std::move(result.tangents)};
  for (size_t r = 0; r < out.results.size(); ++r)
    if (!out.tangents[r].defined()) out.tangents[r] = zeros_of(out.results[r].type());
  return out;
}

}  // namespace tessera::internal
