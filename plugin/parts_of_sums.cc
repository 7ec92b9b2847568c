#include "plugin/parts_of_sums.h"

#include <algorithm>
#include <array>

#include "plugin/device_parts.h"
#include "tessera/control/control.h"
#include "tessera/control/shard_map_trace.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/reductions/reduce.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera::plugin {
namespace {

using ir::AxisNames;
using ir::Type;

// Puts axes into the mesh's order, without those of size 1, which do not matter.
void normalize(AxisNames& axes, const std::optional<NamedSharding>& sharding) {
  AxisNames out;
  if (sharding)
    for (const std::string& axis : sharding->mesh().axis_names())
      if (std::find(axes.begin(), axes.end(), axis) != axes.end() &&
          sharding->mesh().axis_size(axis) > 1)
        out.push_back(axis);
  axes = std::move(out);
}

// Returns parts of `value` along a new leading dimension, which the axes shard: their sum is the
// value. Which parts they are, the partitioner chooses (spmd/parts_of_sums.h).
Array leading_parts(const Array& value, const Mesh& mesh, const AxisNames& axes) {
  const auto part = [&](const std::vector<Array>& arguments) -> std::vector<Array> {
    const Array own = ir::bind_op1(ops::replicated_to_unreduced_op, ops::to_unreduced(mesh, axes),
                                   {lax::pcast_varying(arguments[0], axes)});
    Shape shape = own.shape();
    shape.insert(shape.begin(), 1);
    return {lax::reshape(own, shape)};
  };
  const auto spec = [&](std::span<const Array>) -> std::vector<PartitionSpec> {
    std::vector<AxisRef> refs;
    for (const std::string& axis : axes) refs.push_back({.name = axis});
    return {PartitionSpec(std::vector<DimSpec>{DimSpec(std::move(refs))})};
  };
  return control::shard_map_flat(
      part, {.mesh = mesh, .in_specs = {PartitionSpec()}, .out_specs = spec, .manual_axes = axes},
      std::vector<Array>{value})[0];
}

}  // namespace

interchange::ParsedModule split_unreduced(interchange::ParsedModule module) {
  const ir::Function& main = module.main;
  std::vector<Type> types = main.types_of(main.inputs);
  std::vector<bool> taken(types.size());  // a manual computation takes the summands
  bool any = false;
  for (size_t i = 0; i < types.size(); ++i) {
    AxisNames& axes = module.input_unreduced[i];
    normalize(axes, module.input_shardings[i]);
    if (axes.empty()) continue;
    any = true;
    std::optional<NamedSharding>& sharding = module.input_shardings[i];
    taken[i] = take_summands(module.main, i, axes);
    types[i].shape.insert(types[i].shape.begin(), size_of(sharding->mesh(), axes));
    sharding = with_leading(*sharding, axes);
    types[i].sharding = std::make_shared<const NamedSharding>(*sharding);
  }
  std::vector<bool> open(main.outputs.size());  // whether it has its leading dimension already
  for (size_t r = 0; r < main.outputs.size(); ++r) {
    AxisNames& axes = module.output_unreduced[r];
    normalize(axes, module.output_shardings[r]);
    if (axes.empty()) continue;
    any = true;
    open[r] = return_summands(module.main, r, axes);
    module.output_shardings[r] = with_leading(*module.output_shardings[r], axes);
  }
  if (!any) return module;
  const auto body = std::make_shared<const ir::Function>(main);
  const ir::FlatFn parts = [&](const std::vector<Array>& arguments) {
    std::vector<Array> values = arguments;
    for (size_t i = 0; i < values.size(); ++i)
      if (!module.input_unreduced[i].empty() && !taken[i])
        values[i] = lax::reduce_sum(values[i], {0});
    std::vector<Array> results =
        ir::bind_op(ops::call_op, ops::CallParams{body}, std::span<const Array>(values));
    for (size_t r = 0; r < results.size(); ++r)
      if (const AxisNames& axes = module.output_unreduced[r]; !axes.empty() && !open[r])
        results[r] = leading_parts(results[r], module.output_shardings[r]->mesh(), axes);
    return results;
  };
  ir::Function wrapped = tracing::trace_function(parts, types, main.name).function;
  for (size_t i = 0; i < types.size(); ++i)
    wrapped.types[static_cast<size_t>(wrapped.inputs[i])].sharding = types[i].sharding;
  module.main = std::move(wrapped);
  return module;
}

ir::Function with_held_shapes(ir::Function f, const std::vector<bool>& inputs,
                              const std::vector<bool>& outputs) {
  const auto held = [](Type type) {
    type.shape.erase(type.shape.begin());
    type.sharding = nullptr;
    return type;
  };
  std::vector<ir::Op> before;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i]) continue;
    const ir::ValueId parts = f.inputs[i];
    f.inputs[i] = f.add_value(held(f.type(parts)));
    before.push_back({.def = &ops::reshape_op,
                      .params = ops::ReshapeParams{f.type(parts).shape},
                      .operands = {f.inputs[i]},
                      .results = {parts}});
  }
  f.ops.insert(f.ops.begin(), before.begin(), before.end());
  for (size_t r = 0; r < outputs.size(); ++r) {
    if (!outputs[r]) continue;
    const Type type = held(f.type(f.outputs[r]));
    f.outputs[r] = f.add_op(ops::reshape_op, ops::ReshapeParams{type.shape}, {f.outputs[r]},
                            std::array{type})[0];
  }
  return f;
}

}  // namespace tessera::plugin
