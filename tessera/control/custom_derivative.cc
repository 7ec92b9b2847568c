#include "tessera/control/custom_derivative.h"

#include "tessera/control/make_control_flow.h"
#include "tessera/control/primal_call.h"
#include "tessera/control/rule_uses.h"
#include "tessera/control/samples.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/broadcast.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"
#include "tessera/transform/batch.h"
#include "tessera/transform/derivative.h"
#include "tessera/transform/uses.h"

namespace tessera::ops {

// The op that stands for the tangents of a custom_vjp_call: (residuals..., the results, of which
// only the types matter..., tangents of the arguments in `args`...) -> tangents of the results. It
// can only be transposed.
struct CustomLinearParams {
  FunctionRef bwd;
  int64_t num_residuals = 0, num_results = 0;
  Dims args;
};
extern const OpDef& custom_linear_op;

}  // namespace tessera::ops

namespace tessera::control {
namespace {

Array or_zero(const Array& x, const Type& type) { return x.defined() ? x : zero_of(type); }

JvpResult jvp_custom_jvp(std::span<const Array> primals, std::span<const Array> tangents,
                         const CustomJvpParams& p) {
  std::vector<Array> inputs(primals.begin(), primals.end());
  for (size_t k = 0; k < primals.size(); ++k)
    inputs.push_back(or_zero(tangents[k], primals[k].type()));
  const std::vector<Array> out = inline_function(*p.jvp, inputs);
  const size_t n = p.primal->outputs.size();
  JvpResult result{part(out, 0, n), part(out, n, n)};
  for (size_t r = 0; r < n; ++r)
    if (!is_inexact(result.primals[r].dtype())) result.tangents[r] = Array();
  return result;
}

// Returns the tangent program. The rule is linear in the tangents, so this is its derivative by
// them, at any point. Linearization separates values and tangents in loops of the rule as in any
// other function.
LinearizeResult linearize_custom_jvp(std::span<const Array> primals,
                                     const std::vector<bool>& has_tangent,
                                     const CustomJvpParams& p) {
  std::vector<Array> inputs(primals.begin(), primals.end());
  std::vector<bool> mask(primals.size(), false);
  for (const Array& x : primals) inputs.push_back(zero_of(traced_type(x)));
  mask.insert(mask.end(), has_tangent.begin(), has_tangent.end());
  const LinearizedFunction at = linearize_function(*p.jvp, inputs, mask);
  const size_t n = p.primal->outputs.size();
  return {part(at.primals, 0, n), [at, n](std::span<const Array> tangents) {
            std::vector<Array> operands;
            for (const Array& t : tangents)
              if (t.defined()) operands.push_back(t);
            operands.insert(operands.end(), at.residuals.begin(), at.residuals.end());
            const std::vector<Array> some = inline_function(at.linear, operands);
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

// A function over all examples. `mapped` marks the results that differ between examples; these are
// mapped at dimension 0.
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
  TracedFunction traced = trace_function(
      [&](const std::vector<Array>& x) {
        BatchResult body = batch_function(f, x, at);
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

// Returns the function with all results that `mapped` marks mapped.
MappedFunction widened(MappedFunction f, const std::vector<char>& mapped) {
  if (f.mapped == mapped) return f;
  const int64_t size = BatchAxis::current().size;
  const std::vector<Type> inputs = f.function.input_types();
  f.function = trace_function(
                   [&](const std::vector<Array>& x) {
                     std::vector<Array> out = inline_function(f.function, x);
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

// Maps over examples by binding the same op with mapped functions, so that the rule remains
// attached. A result is mapped if it is mapped in the primal, or in the rule as a result or as a
// tangent.
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
  std::vector<Array> out = inline_function(*p.fwd, primals);
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

// Returns the bwd function over examples: from residuals and cotangents, which are mapped at `at`,
// to cotangents of the arguments, which are mapped at `args`. If an argument is not mapped, its
// cotangent is summed over examples.
Function mapped_backward(const Function& f, std::span<const Type> inputs,
                         const std::vector<int>& at, const std::vector<int>& args) {
  const int64_t size = BatchAxis::current().size;
  return trace_function(
             [&](const std::vector<Array>& x) {
               BatchResult out = batch_function(f, x, at);
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

// Maps over examples by binding the same op with mapped functions.
BatchResult batch_custom_vjp(std::span<const Array> operands, std::span<const int> dims,
                             const CustomVjpParams& p) {
  const std::vector<int> at(dims.begin(), dims.end());
  const std::vector<Type> types = traced_types(operands);
  const auto n = static_cast<size_t>(p.num_results);
  MappedFunction primal = mapped_function(*p.primal, types, at);
  MappedFunction fwd = mapped_function(*p.fwd, types, at);
  std::vector<char> mapped = fwd.mapped;  // the results, then the residuals
  for (size_t r = 0; r < n; ++r) mapped[r] = mapped[r] || primal.mapped[r];
  fwd = widened(std::move(fwd), mapped);
  primal = widened(std::move(primal), {mapped.begin(), mapped.begin() + p.num_results});
  // The inputs of bwd are the residuals, then the cotangents of the results.
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

std::vector<Type> infer_custom_linear(std::span<const Type> operands, const CustomLinearParams& p) {
  return like_types(operands, static_cast<size_t>(p.num_residuals),
                    static_cast<size_t>(p.num_results));
}

FunctionRef no_forward_derivative(const OpParams&) {
  type_error("custom_vjp",
             "expected a reverse derivative (grad, vjp), got a forward one (jvp, jacfwd, "
             "linearize) of a function with a custom_vjp; give it a custom_jvp");
}

// Returns the inputs of bwd: residuals, then cotangents.
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
  const std::vector<Array> back = inline_function(*p.bwd, rule_inputs(cotangents, operands, p));
  std::vector<Array> out(operands.size());
  for (size_t i = 0; i < p.args.size(); ++i)
    if (linear[first_tangent + i]) out[first_tangent + i] = back[static_cast<size_t>(p.args[i])];
  return out;
}

// Returns the uses of a rule. If a cotangent ends in products, these become uses (rule_uses.h).
// Otherwise the rule computes the whole cotangent of each example, which is kept.
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

}  // namespace

}  // namespace tessera::control

namespace tessera::ops {

const OpDef& custom_jvp_call_op = define<CustomJvpParams>({
    .name = "custom_jvp_call",
    .dialect = "tessera",
    .attributes = {"primal", "jvp"},
    .infer = infer_retyped<control::retype_primal<CustomJvpParams>,
                           control::infer_primal<CustomJvpParams>>,
    .retype = control::retype_primal<CustomJvpParams>,
    .lower = Inlined{control::primal_of<CustomJvpParams>},
    .jvp = {control::jvp_custom_jvp},
    .linearize = {control::linearize_custom_jvp},
    .transpose = absent("derivatives apply the function's own rule"),
    .batch = {control::batch_custom_jvp},
    .samples = control::samples::custom_jvp_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& custom_vjp_call_op = define<CustomVjpParams>({
    .name = "custom_vjp_call",
    .dialect = "tessera",
    .attributes = {"primal", "fwd", "bwd", "num_args", "num_results"},
    .infer = infer_retyped<control::retype_primal<CustomVjpParams>,
                           control::infer_primal<CustomVjpParams>>,
    .retype = control::retype_primal<CustomVjpParams>,
    .lower = Inlined{control::primal_of<CustomVjpParams>},
    .jvp = absent("a function with a custom_vjp has no forward derivative; give it a custom_jvp"),
    .linearize = {control::linearize_custom_vjp},
    .transpose = absent("derivatives apply the function's own rule"),
    .batch = {control::batch_custom_vjp},
    .samples = control::samples::custom_vjp_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& custom_linear_op = define<CustomLinearParams>({
    .name = "custom_linear",
    .dialect = "tessera",
    .attributes = {"bwd", "num_residuals", "num_results", "args"},
    .infer = control::infer_custom_linear,
    .lower = Inlined{control::no_forward_derivative},
    .jvp = absent("a function with a custom_vjp has no forward derivative; give it a custom_jvp"),
    .transpose = {control::transpose_custom_linear},
    .batch = absent("a function with a custom_vjp has no forward derivative"),
    .narrow = NarrowOperands::kAsTheyAre,
});

namespace {
[[maybe_unused]] const bool kCustomUses =
    register_uses(custom_linear_op, control::uses_custom_linear);
}  // namespace

}  // namespace tessera::ops
