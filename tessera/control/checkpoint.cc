// Functions whose values are computed again instead of kept for the derivative
// (control/custom_derivative.h).
#include <algorithm>

#include "tessera/control/call_rules.h"
#include "tessera/control/custom_derivative.h"
#include "tessera/control/io_calls.h"
#include "tessera/control/primal_call.h"
#include "tessera/control/samples.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/core/use_rule.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::ops {

// The op that computes the tangents of a checkpointed function: (primal operands..., saved
// values..., the results that have a tangent, of which only the types matter..., tangents of the
// operands that have one...) -> tangents of these results. Its transpose recomputes what was not
// saved, from operands that pass an optimization_barrier.
//
// The function is linearized once, when the op is made. If each transpose did it again, nested
// checkpoints would take a time that is quadratic in their depth.
struct CheckpointLinearParams {
  FunctionRef again;   // (primal operands..., saved values...) -> residuals
  FunctionRef linear;  // (tangents of operands..., residuals...) -> tangents of results
  int64_t num_saved = 0;

  size_t num_kept() const { return again->inputs.size(); }
  size_t num_results() const { return linear->outputs.size(); }
  size_t first_tangent() const { return num_kept() + num_results(); }
  size_t num_tangents() const { return linear->inputs.size() - again->outputs.size(); }
};
extern const OpDef& checkpoint_linear_op;

}  // namespace tessera::ops

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

// The tangent program of a checkpointed function, traced without values.
struct LinearizedAgain {
  CheckpointLinearParams params;
  std::vector<bool> nonzero;  // which results have a tangent
};

// Returns the tangent program. `kept` holds the function's operands, then the values `saved`, which
// the program does not compute again.
LinearizedAgain linearize_again(const Function& f, std::span<const Array> kept,
                                const std::vector<bool>& has_tangent, const Dims& saved) {
  LinearizedAgain out{.params = {.num_saved = saved.rank()}, .nonzero = {}};
  TracedFunction again = trace_function(
      [&](const std::vector<Array>& x) {
        const size_t n = f.inputs.size();
        LinearizedFunction at =
            linearize_function_with(f, part(x, 0, n), has_tangent, saved, part(x, n, saved.size()));
        out.nonzero = std::move(at.nonzero);
        out.params.linear = std::make_shared<const Function>(std::move(at.linear));
        return std::move(at.residuals);
      },
      traced_types(kept), f.name);
  TESSERA_CHECK(again.captures.empty(), "checkpoint: a closed function captured");
  out.params.again = std::make_shared<const Function>(remove_dead_ops(again.function));
  return out;
}

LinearizeResult linearize_checkpoint(std::span<const Array> primals,
                                     const std::vector<bool>& has_tangent,
                                     const CheckpointParams& p) {
  if (p.saveable == Saveable::kEverything) return linearize_inline(*p.primal, primals, has_tangent);
  expect_no_io("checkpoint", *p.primal, "a function", "the derivative runs it again");
  std::vector<Array> values;
  std::vector<Array> out = apply_and_keep(*p.primal, primals, values);
  std::vector<Array> operands(primals.begin(), primals.end());
  Dims saved;
  for (const Op& op : p.primal->ops) {
    if (!is_saved(op, p)) continue;
    for (ValueId v : op.results) {
      saved.push_back(v);
      operands.push_back(values[v]);
    }
  }
  LinearizedAgain at = linearize_again(*p.primal, operands, has_tangent, saved);
  for (size_t r = 0; r < out.size(); ++r)
    if (at.nonzero[r]) operands.push_back(out[r]);
  return {std::move(out), [operands, at](std::span<const Array> tangents) {
            std::vector<Array> t(at.nonzero.size());
            if (at.params.num_results() == 0) return t;
            std::vector<Array> inputs = operands;
            for (const Array& tangent : tangents)
              if (tangent.defined()) inputs.push_back(tangent);
            const std::vector<Array> some = bind_op(checkpoint_linear_op, at.params, inputs);
            size_t next = 0;
            for (size_t r = 0; r < t.size(); ++r)
              if (at.nonzero[r]) t[r] = some[next++];
            return t;
          }};
}

CheckpointLinearParams retype_checkpoint_linear(std::span<const Type> operands,
                                                const CheckpointLinearParams& p) {
  if (operands.size() != p.first_tangent() + p.num_tangents()) return p;  // infer throws UserError
  CheckpointLinearParams q = p;
  q.again = retyped(p.again, variance_of(operands.first(p.num_kept())));
  std::vector<AxisNames> inputs = variance_of(operands.subspan(p.first_tangent()));
  for (AxisNames& residual : variance_of(q.again->output_types()))
    inputs.push_back(std::move(residual));
  q.linear = retyped(p.linear, inputs);
  return q;
}

std::vector<Type> infer_checkpoint_linear(std::span<const Type> operands,
                                          const CheckpointLinearParams& p) {
  expect_operands("checkpoint_linear", operands, p.first_tangent() + p.num_tangents());
  return like_types(operands, p.num_kept(), p.num_results());
}

// Returns the function from the op's operands to its results, which is used if the op is not
// transposed.
FunctionRef checkpoint_tangents(const OpParams& params) {
  const auto& p = params.as<CheckpointLinearParams>();
  std::vector<Type> types = p.again->input_types();
  for (Type& result : p.linear->output_types()) types.push_back(std::move(result));
  for (size_t k = 0; k < p.num_tangents(); ++k)
    types.push_back(p.linear->type(p.linear->inputs[k]));
  TracedFunction traced = trace_function(
      [&](const std::vector<Array>& x) {
        std::vector<Array> inputs = part(x, p.first_tangent(), p.num_tangents());
        for (Array& residual : inline_function(*p.again, part(x, 0, p.num_kept())))
          inputs.push_back(std::move(residual));
        return inline_function(*p.linear, inputs);
      },
      types, p.again->name);
  return std::make_shared<const Function>(remove_dead_ops(traced.function));
}

std::vector<Array> transpose_checkpoint_linear(std::span<const Array> cotangents,
                                               std::span<const Array> operands,
                                               const std::vector<bool>& linear,
                                               const CheckpointLinearParams& p) {
  std::vector<Array> fresh = part(operands, 0, p.num_kept());
  const size_t num_primals = p.num_kept() - static_cast<size_t>(p.num_saved);
  for (size_t k = 0; k < num_primals; ++k) fresh[k] = lax::optimization_barrier(fresh[k]);
  std::vector<Array> inputs(p.num_tangents());
  for (Array& residual : inline_function(*p.again, fresh)) inputs.push_back(std::move(residual));
  std::vector<bool> is_linear(p.num_tangents(), true);
  is_linear.resize(inputs.size(), false);
  const std::vector<Array> back = transpose_function(*p.linear, is_linear, inputs, cotangents);
  std::vector<Array> out(operands.size());
  for (size_t i = 0; i < p.num_tangents(); ++i)
    if (linear[p.first_tangent() + i]) out[p.first_tangent() + i] = back[i];
  return out;
}

// Returns the uses inside the function: what they read is kept until the uses are summed.
Uses uses_checkpoint_linear(std::span<const Array> cotangents, std::span<const Array> operands,
                            const std::vector<Sharing>& sharing, const CheckpointLinearParams& p) {
  const size_t first = p.first_tangent();
  std::vector<Sharing> inner(sharing.begin() + static_cast<ptrdiff_t>(first), sharing.end());
  std::vector<Array> inputs(p.num_tangents());
  for (const Array& residual : inline_function(*p.again, part(operands, 0, p.num_kept()))) {
    // Values that are computed again count as belonging to one example.
    Sharing s = Sharing::kExample;
    for (size_t k = 0; k < first; ++k)
      if (operands[k].data() == residual.data()) s = sharing[k];
    inner.push_back(s);
    inputs.push_back(residual);
  }
  Uses body = transpose_to_uses(*p.linear, inner, inputs, cotangents);
  Uses out{std::move(body.uses), std::vector<Array>(operands.size())};
  for (Use& use : out.uses)
    for (size_t& input : use.inputs) input += first;
  for (size_t i = 0; i < p.num_tangents(); ++i) out.cotangents[first + i] = body.cotangents[i];
  return out;
}

// The forward derivative needs no saved values, so it is that of the primal.
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
    .infer = infer_retyped<control::retype_primal<CheckpointParams>,
                           control::infer_primal<CheckpointParams>>,
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
    .attributes = {"again", "linear", "num_saved"},
    .infer = infer_retyped<control::retype_checkpoint_linear, control::infer_checkpoint_linear>,
    .retype = control::retype_checkpoint_linear,
    .lower = Inlined{control::checkpoint_tangents},
    .jvp = absent("the tangent program of a checkpoint exists only to be transposed; use jvp"),
    .transpose = {control::transpose_checkpoint_linear},
    .batch = absent("the tangent program of a checkpoint exists only to be transposed"),
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {
[[maybe_unused]] const bool kCheckpointUses =
    register_uses(checkpoint_linear_op, control::uses_checkpoint_linear);
}  // namespace

}  // namespace tessera::ops
