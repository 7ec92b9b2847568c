// Functions that are computed again instead of kept (ops/control/custom_derivative.h).
#include <algorithm>

#include "tessera/control/call_rules.h"
#include "tessera/control/primal_call.h"
#include "tessera/control/samples.h"
#include "tessera/ops/control/custom_derivative.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/use_rule.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::control {
namespace {

bool is_saved(const Op& op, const CheckpointParams& p) {
  switch (p.saveable) {
    case Saveable::kNothing:
      return false;
    case Saveable::kEverything:
      return true;
    case Saveable::kDots:
      return op.def == &dot_general_op;
    case Saveable::kDotsWithNoBatchDims:
      return op.def == &dot_general_op && op.params.as<DotParams>().lhs_batch.empty();
    case Saveable::kNames:
    case Saveable::kAllButNames:
      break;
  }
  const bool named = op.def == &checkpoint_name_op &&
                     std::find(p.names.begin(), p.names.end(),
                               op.params.as<CheckpointNameParams>().name) != p.names.end();
  return p.saveable == Saveable::kNames ? named : !named;
}

std::vector<bool> mask_of(const Dims& indices, size_t count) {
  std::vector<bool> out(count);
  for (int64_t k : indices) out[static_cast<size_t>(k)] = true;
  return out;
}

LinearizeResult linearize_checkpoint(std::span<const Array> primals,
                                     const std::vector<bool>& has_tangent,
                                     const CheckpointParams& p) {
  if (p.saveable == Saveable::kEverything)
    return control::linearize_inline(*p.primal, primals, has_tangent);
  std::vector<Array> values;
  std::vector<Array> out = apply_and_keep(*p.primal, primals, values);
  CheckpointLinearParams linear{.primal = p.primal};
  std::vector<Array> operands(primals.begin(), primals.end());
  for (const Op& op : p.primal->ops) {
    if (!is_saved(op, p)) continue;
    for (ValueId v : op.results) {
      linear.saved.push_back(v);
      operands.push_back(values[v]);
    }
  }
  for (size_t k = 0; k < has_tangent.size(); ++k)
    if (has_tangent[k]) linear.args.push_back(static_cast<int64_t>(k));
  const std::vector<Type> types = traced_types(primals);
  trace_function(
      [&](const std::vector<Array>& x) {
        LinearizedFunction at = linearize_function(*p.primal, x, has_tangent);
        for (size_t r = 0; r < at.nonzero.size(); ++r)
          if (at.nonzero[r]) linear.nonzero.push_back(static_cast<int64_t>(r));
        return at.primals;
      },
      types, p.primal->name);
  for (int64_t r : linear.nonzero) operands.push_back(out[static_cast<size_t>(r)]);
  const size_t n = out.size();
  return {std::move(out), [operands, linear, n](std::span<const Array> tangents) {
            std::vector<Array> inputs = operands, t(n);
            for (int64_t k : linear.args) inputs.push_back(tangents[static_cast<size_t>(k)]);
            if (linear.nonzero.empty()) return t;
            const std::vector<Array> some = bind_op(checkpoint_linear_op, linear, inputs);
            for (size_t i = 0; i < some.size(); ++i)
              t[static_cast<size_t>(linear.nonzero[i])] = some[i];
            return t;
          }};
}

// The function's tangent program at operands, with the saved values in place of computed ones.
LinearizedFunction linearize_again(std::span<const Array> operands,
                                   const CheckpointLinearParams& p) {
  const size_t num_inputs = p.primal->inputs.size();
  return linearize_function_with(*p.primal, part(operands, 0, num_inputs),
                                  mask_of(p.args, num_inputs), p.saved,
                                  part(operands, num_inputs, p.saved.size()));
}

std::vector<Type> infer_checkpoint_linear(std::span<const Type> operands,
                                          const CheckpointLinearParams& p) {
  return like_types(operands, p.primal->inputs.size() + p.saved.size(), p.nonzero.size());
}

// What the op computes where it is not transposed: inputs are the operands.
FunctionRef checkpoint_tangents(const OpParams& params) {
  const auto& p = params.as<CheckpointLinearParams>();
  std::vector<Type> types = p.primal->input_types();
  for (int64_t v : p.saved) types.push_back(p.primal->types[static_cast<size_t>(v)]);
  for (int64_t r : p.nonzero)
    types.push_back(p.primal->type(p.primal->outputs[static_cast<size_t>(r)]));
  for (int64_t k : p.args)
    types.push_back(p.primal->type(p.primal->inputs[static_cast<size_t>(k)]));
  TracedFunction traced = trace_function(
      [&](const std::vector<Array>& x) {
        const LinearizedFunction at = linearize_again(x, p);
        std::vector<Array> inputs = part(x, x.size() - p.args.size(), p.args.size());
        inputs.insert(inputs.end(), at.residuals.begin(), at.residuals.end());
        return inline_function(at.linear, inputs);
      },
      types, p.primal->name);
  return std::make_shared<const Function>(remove_dead_ops(traced.function));
}

std::vector<Array> transpose_checkpoint_linear(std::span<const Array> cotangents,
                                               std::span<const Array> operands,
                                               const std::vector<bool>&,
                                               const CheckpointLinearParams& p) {
  const size_t num_primals = p.primal->inputs.size() + p.saved.size();
  const size_t first_tangent = num_primals + p.nonzero.size();
  std::vector<Array> fresh;
  for (size_t k = 0; k < num_primals; ++k)
    fresh.push_back(k < p.primal->inputs.size() ? lax::optimization_barrier(operands[k])
                                                : operands[k]);
  const LinearizedFunction at = linearize_again(fresh, p);
  std::vector<Array> cts;
  size_t next = 0;
  for (size_t r = 0; r < at.nonzero.size(); ++r) {
    const bool listed = next < p.nonzero.size() && p.nonzero[next] == static_cast<int64_t>(r);
    TESSERA_CHECK(listed == at.nonzero[r], "checkpoint: result {} changed its mind", r);
    if (listed) cts.push_back(cotangents[next++]);
  }
  std::vector<bool> is_linear(p.args.size(), true);
  std::vector<Array> inputs(p.args.size());
  is_linear.resize(at.linear.inputs.size(), false);
  inputs.insert(inputs.end(), at.residuals.begin(), at.residuals.end());
  const std::vector<Array> back = transpose_function(at.linear, is_linear, inputs, cts);
  std::vector<Array> out(operands.size());
  for (size_t i = 0; i < p.args.size(); ++i) out[first_tangent + i] = back[i];
  return out;
}

// The function is opened: what its uses read is kept until they are summed.
Uses uses_checkpoint_linear(std::span<const Array> cotangents, std::span<const Array> operands,
                            const std::vector<Sharing>& sharing, const CheckpointLinearParams& p) {
  const size_t first_tangent = p.primal->inputs.size() + p.saved.size() + p.nonzero.size();
  const LinearizedFunction at = linearize_again(operands, p);
  std::vector<Sharing> inner(sharing.begin() + static_cast<ptrdiff_t>(first_tangent),
                             sharing.end());
  std::vector<Array> inputs(p.args.size()), cts;
  for (const Array& residual : at.residuals) {
    // What was computed again counts as the example's.
    Sharing s = Sharing::kExample;
    for (size_t k = 0; k < first_tangent; ++k)
      if (operands[k].data() == residual.data()) s = sharing[k];
    inner.push_back(s);
    inputs.push_back(residual);
  }
  size_t next = 0;
  for (bool nonzero : at.nonzero)
    if (nonzero) cts.push_back(cotangents[next++]);
  Uses body = transpose_to_uses(at.linear, inner, inputs, cts);
  Uses out{std::move(body.uses), std::vector<Array>(operands.size())};
  for (Use& use : out.uses)
    for (size_t& input : use.inputs) input += first_tangent;
  for (size_t i = 0; i < p.args.size(); ++i) out.cotangents[first_tangent + i] = body.cotangents[i];
  return out;
}

// Forward, there is nothing to save.
JvpResult jvp_checkpoint(std::span<const Array> primals, std::span<const Array> tangents,
                         const CheckpointParams& p) {
  return jvp_function(*p.primal, primals, tangents);
}

BatchResult batch_checkpoint(std::span<const Array> operands, std::span<const int> dims,
                             const CheckpointParams& p) {
  const std::vector<Type> types = traced_types(operands);
  BatchResult out;
  const std::vector<int> at(dims.begin(), dims.end());
  TracedFunction mapped = trace_function(
      [&](const std::vector<Array>& x) {
        BatchResult body = batch_function(*p.primal, x, at);
        out.dims = body.dims;
        return body.results;
      },
      types, p.primal->name);
  CheckpointParams params = p;
  params.primal = std::make_shared<const Function>(remove_dead_ops(mapped.function));
  TESSERA_CHECK(mapped.captures.empty(), "checkpoint: a closed function captured");
  out.results = bind_op(checkpoint_op, std::move(params), operands);
  return out;
}

}  // namespace
}  // namespace tessera::control

namespace tessera::ops {

const OpDef& checkpoint_op = define<CheckpointParams>({
    .name = "checkpoint",
    .dialect = "tessera",
    .attributes = {"primal", "saveable", "names"},
    .infer = control::infer_primal<CheckpointParams>,
    .retype = control::retype_primal<CheckpointParams>,
    .lower = Inlined{control::primal_of<CheckpointParams>},
    .jvp = {control::jvp_checkpoint},
    .linearize = {control::linearize_checkpoint},
    .transpose = absent("derivatives inline what is called"),
    .batch = {control::batch_checkpoint},
    .samples = control::samples::checkpoint_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& checkpoint_linear_op = define<CheckpointLinearParams>({
    .name = "checkpoint_linear",
    .dialect = "tessera",
    .attributes = {"primal", "saved", "args", "nonzero"},
    .infer = control::infer_checkpoint_linear,
    .retype = control::retype_primal<CheckpointLinearParams>,
    .lower = Inlined{control::checkpoint_tangents},
    .jvp = absent("the tangent program of a checkpoint is there to be transposed; use jvp"),
    .transpose = {control::transpose_checkpoint_linear},
    .batch = absent("the tangent program of a checkpoint is there to be transposed"),
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {
[[maybe_unused]] const bool kUses =
    register_uses(checkpoint_linear_op, control::uses_checkpoint_linear);
}  // namespace

}  // namespace tessera::ops
