#include "plugin/replicas.h"

#include "plugin/device_parts.h"
#include "tessera/control/control.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ops/collectives/collectives_rules.h"
#include "tessera/ops/structural/reshape.h"
#include "tessera/trace/trace.h"

namespace tessera::plugin {
namespace {

using ir::AxisNames;
using ir::Type;

Type with_leading(Type type, int64_t extent) {
  type.shape.insert(type.shape.begin(), extent);
  type.sharding = nullptr;
  return type;
}

// Returns the program of one replica, whose arguments and results have a leading dimension of
// size 1.
ir::FunctionRef replica_program(const ir::Function& main, const Mesh& mesh) {
  const AxisNames axes = mesh.axis_names();
  const auto body = std::make_shared<const ir::Function>(main);
  std::vector<Type> types;
  for (ir::ValueId input : main.inputs) types.push_back(with_leading(main.type(input), 1));
  const ir::FlatFn run = [&](const std::vector<Array>& arguments) {
    std::vector<Array> values;
    for (size_t i = 0; i < arguments.size(); ++i)
      values.push_back(lax::reshape(arguments[i], main.type(main.inputs[i]).shape));
    std::vector<Array> results =
        ir::bind_op(ops::call_op, ops::CallParams{body}, std::span<const Array>(values));
    for (Array& result : results)
      result = lax::reshape(ops::varying(result, mesh, axes), with_leading(result.type(), 1).shape);
    return results;
  };
  const ir::AxisEnv::Scope scope(mesh, axes, false);
  return std::make_shared<const ir::Function>(
      tracing::trace_function(run, types, main.name).function);
}

}  // namespace

interchange::ParsedModule across_replicas(interchange::ParsedModule module) {
  const Mesh mesh = *module.replicas;
  const AxisNames axes = mesh.axis_names();
  const ir::Function main = std::move(module.main);
  const auto sharding_of = [&](ir::ValueId value) {
    const auto rank = static_cast<size_t>(main.type(value).rank());
    return with_leading(
        NamedSharding(mesh, PartitionSpec(std::vector<DimSpec>(rank, DimSpec(None)))), axes);
  };
  ops::ManualComputationParams p{.mesh = mesh,
                                 .in_specs = {},
                                 .out_specs = {},
                                 .manual_axes = axes,
                                 .body = replica_program(main, mesh)};
  std::vector<Type> types;
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    const NamedSharding sharding = sharding_of(main.inputs[i]);
    p.in_specs.push_back(sharding.spec());
    types.push_back(with_leading(main.type(main.inputs[i]), mesh.size()));
    types.back().sharding = std::make_shared<const NamedSharding>(sharding);
    module.input_shardings[i] = sharding;
    module.input_unreduced[i] = axes;
  }
  for (size_t r = 0; r < main.outputs.size(); ++r) {
    const NamedSharding sharding = sharding_of(main.outputs[r]);
    p.out_specs.push_back(sharding.spec());
    module.output_shardings[r] = sharding;
    module.output_unreduced[r] = axes;
  }
  const ir::FlatFn run = [&](const std::vector<Array>& arguments) {
    return ir::bind_op(ops::manual_computation_op, p, std::span<const Array>(arguments));
  };
  module.main = tracing::trace_function(run, types, main.name).function;
  for (size_t i = 0; i < types.size(); ++i)
    module.main.types[static_cast<size_t>(module.main.inputs[i])].sharding = types[i].sharding;
  return module;
}

}  // namespace tessera::plugin
