#include "tessera/ops/control/custom_derivative.h"

#include <algorithm>

#include "tessera/ir/retype.h"
#include "tessera/ops/control/control_flow_rules.h"
#include "tessera/ops/control/control_rules.h"
#include "tessera/ops/control/control_samples.h"
#include "tessera/ops/control/region_transforms.h"
#include "tessera/ops/control/rule_uses.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/identity.h"
#include "tessera/ops/linear/dot_general.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"

namespace tessera::ops {
namespace {

using control_flow::zero_of;

Array or_zero(const Array& x, const Type& type) { return x.defined() ? x : zero_of(type); }

std::vector<Array> part(std::span<const Array> from, size_t begin, size_t count) {
  return {from.begin() + static_cast<int64_t>(begin),
          from.begin() + static_cast<int64_t>(begin + count)};
}

// As a call of the primal.
template <class P>
std::vector<Type> infer_call(std::span<const Type> operands, const P& p) {
  return call_op.infer(operands, CallParams{p.primal});
}
template <class P>
P retype_primal(std::span<const Type> operands, const P& p) {
  const size_t n = p.primal->inputs.size();
  if (operands.size() < n) return p;  // infer says what is wrong
  P q = p;
  q.primal = retyped(p.primal, variance_of(operands.subspan(0, n)));
  return q;
}
template <class P>
FunctionRef primal_of(const OpParams& params) {
  return params.as<P>().primal;
}

JvpResult jvp_custom_jvp(std::span<const Array> primals, std::span<const Array> tangents,
                         const CustomJvpParams& p) {
  std::vector<Array> inputs(primals.begin(), primals.end());
  for (size_t k = 0; k < primals.size(); ++k)
    inputs.push_back(or_zero(tangents[k], primals[k].type()));
  const std::vector<Array> out = regions().apply(*p.jvp, inputs);
  const size_t n = p.primal->outputs.size();
  JvpResult result{part(out, 0, n), part(out, n, n)};
  for (size_t r = 0; r < n; ++r)
    if (!is_inexact(result.primals[r].dtype())) result.tangents[r] = Array();
  return result;
}

// The rule is linear in the tangents, so its derivative by them, anywhere, is the tangent program:
// what a loop in the rule has of values and of tangents comes apart as in any other function.
LinearizeResult linearize_custom_jvp(std::span<const Array> primals,
                                     const std::vector<bool>& has_tangent,
                                     const CustomJvpParams& p) {
  std::vector<Array> inputs(primals.begin(), primals.end());
  std::vector<bool> mask(primals.size(), false);
  for (const Array& x : primals) inputs.push_back(zero_of(traced_type(x)));
  mask.insert(mask.end(), has_tangent.begin(), has_tangent.end());
  const LinearizedFunction at = regions().linearize(*p.jvp, inputs, mask);
  const size_t n = p.primal->outputs.size();
  return {part(at.primals, 0, n), [at, n](std::span<const Array> tangents) {
            std::vector<Array> operands;
            for (const Array& t : tangents)
              if (t.defined()) operands.push_back(t);
            operands.insert(operands.end(), at.residuals.begin(), at.residuals.end());
            const std::vector<Array> some = regions().apply(at.linear, operands);
            std::vector<Array> out(n);
            size_t next = 0;
            for (size_t r = 0; r < at.nonzero.size(); ++r) {
              if (!at.nonzero[r]) continue;
              if (r >= n && is_inexact(at.primals[r - n].dtype())) out[r - n] = some[next];
              ++next;
            }
            return out;
          }};
}

// A function over all examples, and which of its results differ between them: these are mapped in
// front.
struct MappedFunction {
  Function function;
  std::vector<char> mapped;

  std::vector<int> dims(size_t begin, size_t count) const {
    std::vector<int> out;
    for (size_t r = begin; r < begin + count; ++r) out.push_back(mapped[r] ? 0 : -1);
    return out;
  }
};

MappedFunction mapped_function(const Function& f, std::span<const Type> inputs,
                               const std::vector<int>& at) {
  MappedFunction out;
  TracedFunction traced = regions().trace(
      [&](const std::vector<Array>& x) {
        BatchResult body = regions().batch(f, x, at);
        for (size_t r = 0; r < body.results.size(); ++r) {
          out.mapped.push_back(body.dims[r] >= 0);
          if (body.dims[r] >= 0)
            body.results[r] = lax::move_to_front(body.results[r], body.dims[r]);
        }
        return body.results;
      },
      inputs, f.name);
  TESSERA_CHECK(traced.captures.empty(), "{}: a closed function captured", f.name);
  out.function = std::move(traced.function);
  return out;
}

// The same with the results that `mapped` names mapped too.
MappedFunction widened(MappedFunction f, const std::vector<char>& mapped) {
  if (f.mapped == mapped) return f;
  const int64_t size = BatchAxis::current().size;
  const std::vector<Type> inputs = f.function.input_types();
  f.function = regions()
                   .trace(
                       [&](const std::vector<Array>& x) {
                         std::vector<Array> out = regions().apply(f.function, x);
                         for (size_t r = 0; r < out.size(); ++r)
                           if (mapped[r] && !f.mapped[r])
                             out[r] = lax::with_batch_first(out[r], -1, size);
                         return out;
                       },
                       inputs, f.function.name)
                   .function;
  f.mapped = mapped;
  return f;
}

FunctionRef shared(Function f) { return std::make_shared<const Function>(std::move(f)); }

// Mapped over examples: the same op of mapped functions, so that the rule still holds. A result is
// mapped where the function's, the rule's or the tangent is.
BatchResult batch_custom_jvp(std::span<const Array> operands, std::span<const int> dims,
                             const CustomJvpParams& p) {
  const std::vector<Type> types = traced_types(operands);
  const std::vector<int> one(dims.begin(), dims.end());
  std::vector<int> both = one;
  both.insert(both.end(), one.begin(), one.end());
  std::vector<Type> with_tangents = types;
  with_tangents.insert(with_tangents.end(), types.begin(), types.end());
  MappedFunction primal = mapped_function(*p.primal, types, one);
  MappedFunction jvp = mapped_function(*p.jvp, with_tangents, both);
  const size_t n = primal.mapped.size();
  std::vector<char> mapped(n);
  for (size_t r = 0; r < n; ++r) mapped[r] = primal.mapped[r] || jvp.mapped[r] || jvp.mapped[n + r];
  std::vector<char> twice = mapped;
  twice.insert(twice.end(), mapped.begin(), mapped.end());
  primal = widened(std::move(primal), mapped);
  BatchResult out{.dims = primal.dims(0, n)};
  out.results = bind_op(custom_jvp_call_op,
                        CustomJvpParams{shared(std::move(primal.function)),
                                        shared(widened(std::move(jvp), twice).function)},
                        operands);
  return out;
}

LinearizeResult linearize_custom_vjp(std::span<const Array> primals,
                                     const std::vector<bool>& has_tangent,
                                     const CustomVjpParams& p) {
  const auto num_args = static_cast<size_t>(p.num_args), n = static_cast<size_t>(p.num_results);
  for (size_t k = num_args; k < has_tangent.size(); ++k)
    if (has_tangent[k])
      type_error("custom_vjp",
                 "expected what is differentiated to be an argument, got {} that the function "
                 "captures; pass it as an argument",
                 describe(primals[k].type()));
  std::vector<Array> out = regions().apply(*p.fwd, primals);
  const std::vector<Array> residuals = part(out, n, out.size() - n);
  out.resize(n);
  CustomLinearParams linear{.bwd = p.bwd,
                            .num_residuals = static_cast<int64_t>(residuals.size()),
                            .num_results = p.num_results};
  for (size_t k = 0; k < num_args; ++k)
    if (has_tangent[k]) linear.args.push_back(static_cast<int64_t>(k));
  return {out, [out, residuals, linear](std::span<const Array> tangents) {
            std::vector<Array> operands = residuals;
            operands.insert(operands.end(), out.begin(), out.end());
            for (int64_t k : linear.args) operands.push_back(tangents[static_cast<size_t>(k)]);
            std::vector<Array> t = bind_op(custom_linear_op, linear, operands);
            for (size_t r = 0; r < t.size(); ++r)
              if (!is_inexact(out[r].dtype())) t[r] = Array();
            return t;
          }};
}

// The rule of `f` over examples: from residuals and cotangents, mapped at `at`, to cotangents of
// the arguments, which are mapped at `args`. Where one differs between examples and its argument
// does not, it is summed over them.
Function mapped_backward(const Function& f, std::span<const Type> inputs,
                         const std::vector<int>& at, const std::vector<int>& args) {
  const int64_t size = BatchAxis::current().size;
  return regions()
      .trace(
          [&](const std::vector<Array>& x) {
            BatchResult out = regions().batch(f, x, at);
            for (size_t k = 0; k < out.results.size(); ++k) {
              Array& ct = out.results[k];
              if (args[k] < 0 && out.dims[k] < 0) continue;
              const Array wide = lax::with_batch_first(ct, out.dims[k], size);
              ct = args[k] < 0 ? lax::reduce_sum(wide, {0}) : lax::move_dim(wide, 0, args[k]);
            }
            return out.results;
          },
          inputs, f.name)
      .function;
}

// Mapped over examples: the same op of mapped functions.
BatchResult batch_custom_vjp(std::span<const Array> operands, std::span<const int> dims,
                             const CustomVjpParams& p) {
  const std::vector<int> at(dims.begin(), dims.end());
  const std::vector<Type> types = traced_types(operands);
  const auto n = static_cast<size_t>(p.num_results);
  MappedFunction primal = mapped_function(*p.primal, types, at);
  MappedFunction fwd = mapped_function(*p.fwd, types, at);
  std::vector<char> mapped = fwd.mapped;  // the results', then the residuals'
  for (size_t r = 0; r < n; ++r) mapped[r] = mapped[r] || primal.mapped[r];
  fwd = widened(std::move(fwd), mapped);
  primal = widened(std::move(primal), {mapped.begin(), mapped.begin() + p.num_results});
  // bwd takes residuals, then cotangents of the results.
  const std::vector<Type> forward = fwd.function.output_types();
  std::vector<Type> bwd_inputs(forward.begin() + p.num_results, forward.end());
  bwd_inputs.insert(bwd_inputs.end(), forward.begin(), forward.begin() + p.num_results);
  std::vector<int> bwd_at = fwd.dims(n, mapped.size() - n);
  BatchResult out{.dims = primal.dims(0, n)};
  bwd_at.insert(bwd_at.end(), out.dims.begin(), out.dims.end());
  CustomVjpParams q = p;
  q.primal = shared(std::move(primal.function));
  q.fwd = shared(std::move(fwd.function));
  q.bwd = shared(mapped_backward(*p.bwd, bwd_inputs, bwd_at, at));
  out.results = bind_op(custom_vjp_call_op, std::move(q), operands);
  return out;
}

// The types of the operands that stand there for them.
std::vector<Type> like_types(std::span<const Type> operands, size_t begin, size_t count) {
  std::vector<Type> out;
  for (size_t r = begin; r < begin + count; ++r) {
    out.push_back(operands[r]);
    out.back().sharding = nullptr;
  }
  return out;
}

std::vector<Type> infer_custom_linear(std::span<const Type> operands, const CustomLinearParams& p) {
  return like_types(operands, static_cast<size_t>(p.num_residuals),
                    static_cast<size_t>(p.num_results));
}

FunctionRef no_forward_derivative(const OpParams&) {
  type_error("custom_vjp",
             "expected a reverse derivative (grad, vjp), got a forward one (jvp, jacfwd, "
             "linearize) of a function with a custom_vjp; give it a custom_jvp");
}

// Results of `function`, and all its values.
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

// What the rule reads: residuals, then cotangents.
std::vector<Array> rule_inputs(std::span<const Array> cotangents, std::span<const Array> operands,
                               const CustomLinearParams& p) {
  const auto num_residuals = static_cast<size_t>(p.num_residuals);
  std::vector<Array> out = part(operands, 0, num_residuals);
  for (size_t r = 0; r < cotangents.size(); ++r)
    out.push_back(or_zero(cotangents[r], operands[num_residuals + r].type()));
  return out;
}

std::vector<Array> transpose_custom_linear(std::span<const Array> cotangents,
                                           std::span<const Array> operands,
                                           const std::vector<bool>& linear,
                                           const CustomLinearParams& p) {
  const auto first_tangent = static_cast<size_t>(p.num_residuals + p.num_results);
  const std::vector<Array> back = regions().apply(*p.bwd, rule_inputs(cotangents, operands, p));
  std::vector<Array> out(operands.size());
  for (size_t i = 0; i < p.args.size(); ++i)
    if (linear[first_tangent + i]) out[first_tangent + i] = back[static_cast<size_t>(p.args[i])];
  return out;
}

// The rule gives the cotangents themselves: of each example, whole, unless it ends in products.
Uses uses_custom_linear(std::span<const Array> cotangents, std::span<const Array> operands,
                        const std::vector<Sharing>& sharing, const CustomLinearParams& p) {
  const auto first_tangent = static_cast<size_t>(p.num_residuals + p.num_results);
  std::vector<Array> values;
  const std::vector<Array> back =
      apply_and_keep(*p.bwd, rule_inputs(cotangents, operands, p), values);
  Uses out{{}, std::vector<Array>(operands.size())};
  for (size_t i = 0; i < p.args.size(); ++i) {
    const size_t k = first_tangent + i, r = static_cast<size_t>(p.args[i]);
    if (sharing[k] == Sharing::kExampleLinear) out.cotangents[k] = back[r];
    if (sharing[k] != Sharing::kSharedLinear) continue;
    const std::optional<std::vector<Use>> uses = product_uses(*p.bwd, values, p.bwd->outputs[r], k);
    if (uses)
      out.uses.insert(out.uses.end(), uses->begin(), uses->end());
    else
      out.uses.push_back(identity_use(k, back[r]));
  }
  return out;
}

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
    return control_rules::linearize_inline(*p.primal, primals, has_tangent);
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
  regions().trace(
      [&](const std::vector<Array>& x) {
        LinearizedFunction at = regions().linearize(*p.primal, x, has_tangent);
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
  return regions().linearize_with(*p.primal, part(operands, 0, num_inputs),
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
  TracedFunction traced = regions().trace(
      [&](const std::vector<Array>& x) {
        const LinearizedFunction at = linearize_again(x, p);
        std::vector<Array> inputs = part(x, x.size() - p.args.size(), p.args.size());
        inputs.insert(inputs.end(), at.residuals.begin(), at.residuals.end());
        return regions().apply(at.linear, inputs);
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
  const std::vector<Array> back = regions().transpose(at.linear, is_linear, inputs, cts);
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
  Uses body = regions().uses(at.linear, inner, inputs, cts);
  Uses out{std::move(body.uses), std::vector<Array>(operands.size())};
  for (Use& use : out.uses)
    for (size_t& input : use.inputs) input += first_tangent;
  for (size_t i = 0; i < p.args.size(); ++i) out.cotangents[first_tangent + i] = body.cotangents[i];
  return out;
}

// Forward, there is nothing to save.
JvpResult jvp_checkpoint(std::span<const Array> primals, std::span<const Array> tangents,
                         const CheckpointParams& p) {
  return regions().jvp(*p.primal, primals, tangents);
}

BatchResult batch_checkpoint(std::span<const Array> operands, std::span<const int> dims,
                             const CheckpointParams& p) {
  const std::vector<Type> types = traced_types(operands);
  BatchResult out;
  const std::vector<int> at(dims.begin(), dims.end());
  TracedFunction mapped = regions().trace(
      [&](const std::vector<Array>& x) {
        BatchResult body = regions().batch(*p.primal, x, at);
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

const OpDef& custom_jvp_call_op = define<CustomJvpParams>({
    .name = "custom_jvp_call",
    .dialect = "tessera",
    .attributes = {"primal", "jvp"},
    .infer = infer_retyped<retype_primal<CustomJvpParams>, infer_call<CustomJvpParams>>,
    .retype = retype_primal<CustomJvpParams>,
    .lower = Inlined{primal_of<CustomJvpParams>},
    .jvp = {jvp_custom_jvp},
    .linearize = {linearize_custom_jvp},
    .transpose = absent("derivatives apply the function's own rule"),
    .batch = {batch_custom_jvp},
    .samples = control_samples::custom_jvp_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& custom_vjp_call_op = define<CustomVjpParams>({
    .name = "custom_vjp_call",
    .dialect = "tessera",
    .attributes = {"primal", "fwd", "bwd", "num_args", "num_results"},
    .infer = infer_retyped<retype_primal<CustomVjpParams>, infer_call<CustomVjpParams>>,
    .retype = retype_primal<CustomVjpParams>,
    .lower = Inlined{primal_of<CustomVjpParams>},
    .jvp = absent("a function with a custom_vjp has no forward derivative; give it a custom_jvp"),
    .linearize = {linearize_custom_vjp},
    .transpose = absent("derivatives apply the function's own rule"),
    .batch = {batch_custom_vjp},
    .samples = control_samples::custom_vjp_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& custom_linear_op = define<CustomLinearParams>({
    .name = "custom_linear",
    .dialect = "tessera",
    .attributes = {"bwd", "num_residuals", "num_results", "args"},
    .infer = infer_custom_linear,
    .lower = Inlined{no_forward_derivative},
    .jvp = absent("a function with a custom_vjp has no forward derivative; give it a custom_jvp"),
    .transpose = {transpose_custom_linear},
    .uses = uses_custom_linear,
    .batch = absent("a function with a custom_vjp has no forward derivative"),
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& checkpoint_op = define<CheckpointParams>({
    .name = "checkpoint",
    .dialect = "tessera",
    .attributes = {"primal", "saveable", "names"},
    .infer = infer_retyped<retype_primal<CheckpointParams>, infer_call<CheckpointParams>>,
    .retype = retype_primal<CheckpointParams>,
    .lower = Inlined{primal_of<CheckpointParams>},
    .jvp = {jvp_checkpoint},
    .linearize = {linearize_checkpoint},
    .transpose = absent("derivatives inline what is called"),
    .batch = {batch_checkpoint},
    .samples = control_samples::checkpoint_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& checkpoint_linear_op = define<CheckpointLinearParams>({
    .name = "checkpoint_linear",
    .dialect = "tessera",
    .attributes = {"primal", "saved", "args", "nonzero"},
    .infer = infer_retyped<retype_primal<CheckpointLinearParams>, infer_checkpoint_linear>,
    .retype = retype_primal<CheckpointLinearParams>,
    .lower = Inlined{checkpoint_tangents},
    .jvp = absent("the tangent program of a checkpoint is there to be transposed; use jvp"),
    .transpose = {transpose_checkpoint_linear},
    .uses = uses_checkpoint_linear,
    .batch = absent("the tangent program of a checkpoint is there to be transposed"),
    .narrow = NarrowOperands::kAsTheyAre,
});

}  // namespace tessera::ops
