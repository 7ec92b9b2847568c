// sdy.manual_computation and func.call (control/control.h).
#include <algorithm>

#include "tessera/control/call_rules.h"
#include "tessera/control/control.h"
#include "tessera/control/samples.h"
#include "tessera/ir/retype.h"
#include "tessera/ops/core/op.h"

namespace tessera::ops {
namespace {

ManualComputationParams retype_manual(std::span<const Type> operands,
                                      const ManualComputationParams& p) {
  if (operands.size() != p.in_specs.size() || operands.size() != p.body->inputs.size())
    return p;  // infer throws UserError
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
  if (operands.size() != p.callee->inputs.size()) return p;  // infer throws UserError
  return {retyped(p.callee, variance_of(operands)), p.frontend_attributes};
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

}  // namespace

const OpDef& manual_computation_op = define<ManualComputationParams>({
    .name = "manual_computation",
    .dialect = "sdy",
    .attributes = {"mesh", "in_shardings", "out_shardings", "manual_axes", "check_vma", "body"},
    .infer = infer_retyped<retype_manual, infer_manual>,
    .retype = retype_manual,
    .lower = ManualRegion{},
    .jvp = {control::jvp_by_linearize<control::linearize_manual, ManualComputationParams>},
    .linearize = {control::linearize_manual},
    .transpose = {control::transpose_manual},
    .batch = {control::batch_manual},
    .samples = control::samples::manual_computation_samples,
    .narrow = NarrowOperands::kAsTheyAre,
});

const OpDef& call_op = define<CallParams>({
    .name = "call",
    .dialect = "func",
    .attributes = {"callee", "frontend_attributes"},
    .infer = infer_retyped<retype_call, infer_call>,
    .retype = retype_call,
    .lower = Inlined{[](const OpParams& params) { return params.as<CallParams>().callee; }},
    .jvp = {control::jvp_call},
    .linearize = {control::linearize_call},
    .transpose = absent("derivatives inline what is called"),
    .batch = {control::batch_call},
    .samples = control::samples::call_samples,
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
