#include "tessera/ops/control/control.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/ir/axis_env.h"
#include "tessera/ir/retype.h"
#include "tessera/ops/control/control_rules.h"
#include "tessera/ops/control/control_samples.h"
#include "tessera/ops/core/batch_axis.h"
#include "tessera/ops/core/op.h"
#include "tessera/ops/text/formats.h"

namespace tessera::ops {
namespace {

std::vector<Type> infer_constraint(std::span<const Type> operands,
                                   const ShardingConstraintParams& p) {
  expect_operands("sharding_constraint", operands, 1);
  check_rank("sharding_constraint", p.sharding, operands[0].shape);
  const AxisNames& manual = AxisEnv::current().manual_axes();
  for (const std::string& axis : axes_of(p.sharding.spec()))
    if (std::find(manual.begin(), manual.end(), axis) != manual.end())
      sharding_error("sharding_constraint",
                     "expected axes that are not manual here, got '{}' in {}; inside shard_map "
                     "only the axes it leaves "
                     "automatic can be constrained",
                     axis, p.sharding.spec());
  return {operands[0]};
}

ManualComputationParams retype_manual(std::span<const Type> operands,
                                      const ManualComputationParams& p) {
  if (operands.size() != p.in_specs.size() || operands.size() != p.body->inputs.size())
    return p;  // infer says what is wrong
  std::vector<AxisNames> inputs;
  for (size_t k = 0; k < operands.size(); ++k)
    inputs.push_back(axis_union(operands[k].varying, axes_of(p.in_specs[k])));
  ManualComputationParams q = p;
  q.body = retyped(p.body, inputs);
  return q;
}

std::vector<Type> infer_manual(std::span<const Type> operands, const ManualComputationParams& p) {
  constexpr std::string_view kOp = "manual_computation";
  expect_operands(kOp, operands, p.in_specs.size());
  expect_operands(kOp, operands, p.body->inputs.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    check_divisible(kOp, NamedSharding(p.mesh, p.in_specs[k]), operands[k].shape);
    const Type local = manual_local_type(operands[k], p.mesh, p.in_specs[k]);
    const Type& input = p.body->type(p.body->inputs[k]);
    if (!local.same_array(input))
      type_error(kOp,
                 "expected operand {} to have the local type {} of the body, got {} ({} by {})", k,
                 describe(input), describe(local), describe(operands[k]), p.in_specs[k]);
  }
  if (p.out_specs.size() != p.body->outputs.size())
    sharding_error(kOp, "expected one out_spec a result, got {} for {} results", p.out_specs.size(),
                   p.body->outputs.size());
  std::vector<Type> results;
  for (size_t r = 0; r < p.out_specs.size(); ++r) {
    const Type& local = p.body->type(p.body->outputs[r]);
    check_rank(kOp, NamedSharding(p.mesh, p.out_specs[r]), local.shape);
    if (p.check_vma) {
      const AxisNames unnamed = axis_difference(local.varying, axes_of(p.out_specs[r]));
      for (const std::string& axis : unnamed)
        if (std::find(p.manual_axes.begin(), p.manual_axes.end(), axis) != p.manual_axes.end())
          sharding_error("shard_map",
                         "expected result {} to be the same on all devices along '{}', which its "
                         "out_spec {} does not name, "
                         "got {}, which varies along it; name '{}' in the spec, reduce over it "
                         "(psum, pmax, ...), or pass "
                         "check_vma = false if the values are equal all the same",
                         r, axis, p.out_specs[r], describe(local), axis);
    }
    results.push_back(manual_global_type(local, p.mesh, p.out_specs[r], p.manual_axes));
  }
  return results;
}

CallParams retype_call(std::span<const Type> operands, const CallParams& p) {
  if (operands.size() != p.callee->inputs.size()) return p;  // infer says what is wrong
  return {retyped(p.callee, variance_of(operands))};
}

std::vector<Type> infer_call(std::span<const Type> operands, const CallParams& p) {
  const std::string_view name = p.callee->name;
  expect_operands(name, operands, p.callee->inputs.size());
  for (size_t k = 0; k < operands.size(); ++k) {
    const Type& input = p.callee->type(p.callee->inputs[k]);
    if (!input.same_array(operands[k]))
      type_error(name, "expected operand {} of type {}, got {}", k, describe(input),
                 describe(operands[k]));
  }
  return p.callee->output_types();
}

std::vector<Literal> evaluate_identity(std::span<const Literal> x,
                                       const ShardingConstraintParams&) {
  return {x[0]};
}

Factors constraint_factors(std::span<const Type> operands, std::span<const Type> results,
                           const ShardingConstraintParams&) {
  return pointwise_factors(operands, results);
}

// Tangents and cotangents lie as the value does.
JvpResult jvp_constraint(std::span<const Array> x, std::span<const Array> t,
                         const ShardingConstraintParams& p) {
  return {{bind_op1(sharding_constraint_op, p, {x[0]})},
          {t[0].defined() ? bind_op1(sharding_constraint_op, p, {t[0]}) : Array()}};
}
std::vector<Array> transpose_constraint(std::span<const Array> ct, std::span<const Array>,
                                        const std::vector<bool>&,
                                        const ShardingConstraintParams& p) {
  return {ct[0].defined() ? bind_op1(sharding_constraint_op, p, {ct[0]}) : Array()};
}
// The mapped dimension is cut by vmap's spmd axes, else as propagation finds. Mesh axes that one
// example's dimension cannot be divided by were meant for the dimension of examples: BatchAxis says
// what becomes of them.
BatchResult batch_constraint(std::span<const Array> x, std::span<const int> dims,
                             const ShardingConstraintParams& p) {
  const BatchAxis& axis = BatchAxis::current();
  const Mesh& mesh = p.sharding.mesh();
  std::vector<DimSpec> entries = p.sharding.spec().dims();
  DimSpec mapped = UNCONSTRAINED;
  if (!axis.spmd_axes.empty()) {
    mapped = DimSpec();
    for (const std::string& name : axis.spmd_axes) mapped.axes.push_back(AxisRef{name});
  }
  for (size_t d = 0; d < entries.size(); ++d) {
    const int64_t shards = p.sharding.num_shards(static_cast<int64_t>(d));
    const int64_t example_dim =
        static_cast<int64_t>(d) < dims[0] ? static_cast<int64_t>(d) : static_cast<int64_t>(d) + 1;
    const int64_t extent = x[0].shape()[example_dim];
    if (extent % shards == 0) continue;
    switch (axis.indivisible) {
      case Indivisible::kError:
        sharding_error(
            "vmap",
            "expected dimensions that the axes of a sharding constraint divide, got dimension {} "
            "of one example, {}, under {} on {}; if the constraint is meant for the dimension of "
            "examples pass indivisible = Indivisible::kHoist to vmap, to drop it there "
            "Indivisible::kReplicate, or constrain outside of the mapped function",
            d, extent, p.sharding.spec(), mesh);
      case Indivisible::kHoist:
        mapped.open = false;
        mapped.axes.insert(mapped.axes.end(), entries[d].axes.begin(), entries[d].axes.end());
        break;
      case Indivisible::kReplicate:
        break;
    }
    entries[d] = None;
  }
  while (static_cast<int>(entries.size()) < dims[0]) entries.push_back(None);
  entries.insert(entries.begin() + dims[0], mapped);
  const NamedSharding batched(mesh,
                              PartitionSpec(std::move(entries), p.sharding.spec().replicated()));
  return {{bind_op1(sharding_constraint_op, ShardingConstraintParams{batched}, {x[0]})}, {dims[0]}};
}

std::vector<Sample> constraint_samples() {
  const Mesh mesh = Mesh::abstract({2, 4}, {"x", "y"});
  return {{.operands = {{float32, {8, 4}}},
           .params = ShardingConstraintParams{NamedSharding(mesh, P("x", "y"))}},
          {.operands = {{int32, {8}}},
           .params = ShardingConstraintParams{NamedSharding(mesh, P(joint("y", "x")))}}};
}

double no_flops(std::span<const Type>, std::span<const Type>, const ShardingConstraintParams&) {
  return 0;
}

}  // namespace

const OpDef& sharding_constraint_op = define<ShardingConstraintParams>({
    .name = "sharding_constraint",
    .dialect = "sdy",
    .attributes = {"sharding"},
    .format = formats::sharding_constraint(),
    .infer = infer_constraint,
    .evaluate = evaluate_identity,
    .factors = constraint_factors,
    .lower = Constraint{},
    .flops = no_flops,
    .jvp = {jvp_constraint},
    .transpose = {transpose_constraint},
    .batch = {batch_constraint},
    .samples = constraint_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& manual_computation_op = define<ManualComputationParams>({
    .name = "manual_computation",
    .dialect = "sdy",
    .attributes = {"mesh", "in_shardings", "out_shardings", "manual_axes", "check_vma", "body"},
    .format = formats::manual_computation(),
    .infer = infer_retyped<retype_manual, infer_manual>,
    .retype = retype_manual,
    .lower = ManualRegion{},
    .jvp =
        {control_rules::jvp_by_linearize<control_rules::linearize_manual, ManualComputationParams>},
    .linearize = {control_rules::linearize_manual},
    .transpose = {control_rules::transpose_manual},
    .batch = {control_rules::batch_manual},
    .samples = control_samples::manual_computation_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& call_op = define<CallParams>({
    .name = "call",
    .dialect = "func",
    .attributes = {"callee"},
    .format = {.assembly = "{callee}({operands})"},
    .infer = infer_retyped<retype_call, infer_call>,
    .retype = retype_call,
    .lower = Inlined{[](const OpParams& params) { return params.as<CallParams>().callee; }},
    .jvp = {control_rules::jvp_call},
    .linearize = {control_rules::linearize_call},
    .transpose = absent("derivatives inline what is called"),
    .batch = {control_rules::batch_call},
    .samples = control_samples::call_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

AxisNames axes_of(const PartitionSpec& spec) {
  AxisNames axes;
  for (const DimSpec& dim : spec.dims())
    for (const AxisRef& axis : dim.axes) axes.push_back(axis.name);
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

Type manual_local_type(const Type& global, const Mesh& mesh, const PartitionSpec& spec) {
  Type local = global.with_shape(NamedSharding(mesh, spec).shard_shape(global.shape));
  local.varying = axis_union(global.varying, axes_of(spec));
  return local;
}

Type manual_global_type(const Type& local, const Mesh& mesh, const PartitionSpec& spec,
                        const AxisNames& manual_axes) {
  const NamedSharding sharding(mesh, spec);
  Shape shape = local.shape;
  for (int64_t d = 0; d < shape.rank(); ++d) shape[d] *= sharding.num_shards(d);
  Type global = local.with_shape(std::move(shape));
  global.varying = axis_difference(local.varying, manual_axes);
  return global;
}

}  // namespace tessera::ops

namespace tessera::lax {

using namespace ops;

Array sharding_constraint(const Array& x, const NamedSharding& sharding) {
  return bind_op1(sharding_constraint_op, ShardingConstraintParams{sharding}, {x});
}

}  // namespace tessera::lax
