// What an op is, for those who write one. A file of ops/ makes one OpDef an op with
// define<Params>({...}): rules are plain functions over the op's own Params struct; define() erases
// the struct and registers the op.
//
//   struct TransposeParams { Dims permutation; };
//   const OpDef& transpose_op = define<TransposeParams>({
//       .name = "transpose", .attributes = {"permutation"},
//       .infer = infer_transpose, .evaluate = evaluate_transpose, .factors = transpose_factors,
//       .lower = IndexMap{map_transpose}, .samples = transpose_samples});
//   Array transpose(const Array& x, Dims permutation) {
//     return bind_op1(transpose_op, TransposeParams{permutation}, {x});
//   }
#pragma once

#include "tessera/ir/op_def.h"

namespace tessera::ops {

// The slots of OpDef over the op's own params; every function may be a lambda or a plain function.
template <class P>
struct OpSpec {
  std::string_view name;
  std::string_view dialect = "stablehlo";
  std::vector<std::string_view> attributes = {};
  std::function<std::vector<Type>(std::span<const Type>, const P&)> infer = {};
  // Regions typed for these operands (ir/retype.h); `infer` is given what it returns.
  std::function<P(std::span<const Type>, const P&)> retype = {};
  // A loop or a branch says what it is (ir/control_flow.h), and is made again as another one. Its
  // lowering is that.
  struct {
    std::function<ControlFlow(const P&)> read = {};
    std::function<P(const P& like, const ControlFlow&)> write = {};
  } regions = {};
  std::function<std::vector<Literal>(std::span<const Literal>, const P&)> evaluate = {};
  std::function<std::vector<std::vector<Literal>>(const std::vector<std::vector<Literal>>&,
                                                  const P&, const Mesh&)>
      evaluate_spmd = {};
  std::function<Factors(std::span<const Type>, std::span<const Type>, const P&)> factors = {};
  std::function<std::vector<Array>(std::span<const Array>, const P&, const LocalContext&)>
      localize = {};
  Lowering lower = {};
  std::function<double(std::span<const Type>, std::span<const Type>, const P&)> flops = {};
  Rule<std::function<JvpResult(std::span<const Array>, std::span<const Array>, const P&)>> jvp = {};
  Rule<std::function<LinearizeResult(std::span<const Array>, const std::vector<bool>&, const P&)>>
      linearize = {};
  Rule<std::function<std::vector<Array>(std::span<const Array>, std::span<const Array>,
                                        const std::vector<bool>&, const P&)>>
      transpose = {};
  Rule<std::function<BatchResult(std::span<const Array>, std::span<const int>, const P&)>> batch =
      {};
  std::vector<Sample> (*samples)() = nullptr;
  bool effect = false;
  NarrowOperands narrow = NarrowOperands::kValues;
};

// Registers the op; the returned definition lives as long as the process.
template <class P>
const OpDef& define(OpSpec<P> spec) {
  auto* def = new OpDef;
  def->name = spec.name;
  def->dialect = spec.dialect;
  def->params = OpParams(P{});
  def->attributes = spec.attributes;
  if (spec.infer)
    def->infer = [f = spec.infer, retype = spec.retype](std::span<const Type> t,
                                                        const OpParams& p) {
      return retype ? f(t, retype(t, p.as<P>())) : f(t, p.as<P>());
    };
  if (spec.retype)
    def->retype = [f = spec.retype](std::span<const Type> t, const OpParams& p) -> OpParams {
      return f(t, p.as<P>());
    };
  if (spec.evaluate)
    def->evaluate = [f = spec.evaluate](std::span<const Literal> x, const OpParams& p) {
      return f(x, p.as<P>());
    };
  if (spec.evaluate_spmd)
    def->evaluate_spmd = [f = spec.evaluate_spmd](const std::vector<std::vector<Literal>>& x,
                                                  const OpParams& p, const Mesh& mesh) {
      return f(x, p.as<P>(), mesh);
    };
  if (spec.factors)
    def->factors = [f = spec.factors](std::span<const Type> o, std::span<const Type> r,
                                      const OpParams& p) { return f(o, r, p.as<P>()); };
  if (spec.localize)
    def->localize = [f = spec.localize](std::span<const Array> x, const OpParams& p,
                                        const LocalContext& c) { return f(x, p.as<P>(), c); };
  def->lower = spec.lower;
  if (spec.regions.read) {
    def->regions.read = [f = spec.regions.read](const OpParams& p) { return f(p.as<P>()); };
    def->regions.write = [f = spec.regions.write](const OpParams& like,
                                                  const ControlFlow& flow) -> OpParams {
      return f(like.as<P>(), flow);
    };
    def->lower = ControlFlowLowering{};
  }
  if (spec.flops)
    def->flops = [f = spec.flops](std::span<const Type> o, std::span<const Type> r,
                                  const OpParams& p) { return f(o, r, p.as<P>()); };
  if (spec.jvp)
    def->jvp = JvpFn([f = spec.jvp.fn](std::span<const Array> x, std::span<const Array> t,
                                       const OpParams& p) { return f(x, t, p.as<P>()); });
  def->jvp.why_absent = spec.jvp.why_absent;
  if (spec.linearize)
    def->linearize = LinearizeFn(
        [f = spec.linearize.fn](std::span<const Array> x, const std::vector<bool>& has_tangent,
                                const OpParams& p) { return f(x, has_tangent, p.as<P>()); });
  def->linearize.why_absent = spec.linearize.why_absent;
  if (spec.transpose)
    def->transpose =
        TransposeFn([f = spec.transpose.fn](std::span<const Array> ct, std::span<const Array> x,
                                            const std::vector<bool>& linear, const OpParams& p) {
          return f(ct, x, linear, p.as<P>());
        });
  def->transpose.why_absent = spec.transpose.why_absent;
  if (spec.batch)
    def->batch = BatchFn([f = spec.batch.fn](std::span<const Array> x, std::span<const int> dims,
                                             const OpParams& p) { return f(x, dims, p.as<P>()); });
  def->batch.why_absent = spec.batch.why_absent;
  def->samples = spec.samples;
  def->effect = spec.effect;
  def->narrow = spec.narrow;
  for (const Attribute& field : def->params.fields())
    def->has_dtypes = def->has_dtypes || std::holds_alternative<DType>(field);
  register_op(*def);
  return *def;
}

// Helpers that infer rules share. `op` is the name for the message.
void expect_operands(std::string_view op, std::span<const Type> operands, size_t count);
void expect_same_dtype(std::string_view op, std::span<const Type> operands);
void expect_same_shape(std::string_view op, std::span<const Type> operands);
// The manual axes the result of an ordinary op varies over: the union of its operands'.
AxisNames varying_union(std::span<const Type> operands);
// Evaluates op by op. A pointwise function of scalars (a reduce body) may be given inputs of any
// one shape, element by element.
std::vector<Literal> evaluate_function(const Function& function, std::span<const Literal> inputs);

}  // namespace tessera::ops
