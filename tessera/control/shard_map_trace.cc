#include "tessera/control/shard_map_trace.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "tessera/base/contains.h"
#include "tessera/control/control.h"
#include "tessera/ir/axis_env.h"
#include "tessera/ir/format.h"
#include "tessera/ir/op_def.h"
#include "tessera/mesh/contrast.h"
#include "tessera/trace/trace.h"

namespace tessera::control {
namespace {

constexpr std::string_view kShardMapTraceOp = "shard_map";

// Returns the axes that this call makes manual, sorted.
AxisNames choose_manual_axes(const FlatShardMapOptions& options) {
  const AxisEnv& env = AxisEnv::current();
  if (!env.manual_axes().empty() && !(env.mesh() == options.mesh))
    sharding_error(kShardMapTraceOp,
                   "expected the mesh of the enclosing shard_map, {}, got {}; nest over other axes "
                   "of one mesh",
                   in_contrast(env.mesh(), options.mesh), in_contrast(options.mesh, env.mesh()));
  AxisNames axes = options.manual_axes;
  if (axes.empty())
    for (const std::string& axis : options.mesh.axis_names())
      if (!contains(env.manual_axes(), axis)) axes.push_back(axis);
  for (const std::string& axis : axes) {
    if (!options.mesh.has_axis(axis))
      sharding_error(kShardMapTraceOp, "expected axis_names of {}, got '{}'", options.mesh, axis);
    if (contains(env.manual_axes(), axis))
      sharding_error(kShardMapTraceOp,
                     "expected axes that are not manual already, got '{}'; the enclosing shard_map "
                     "has made '{}' manual",
                     axis, fmt::join(env.manual_axes(), "', '"));
  }
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  return axes;
}

// Throws UserError unless the spec fits the type. `what` is "in_specs" or "out_specs".
void check_spec(const char* what, size_t index, const PartitionSpec& spec, const Type& type,
                const Mesh& mesh, const AxisNames& manual) {
  if (spec.rank() > type.rank())
    sharding_error(kShardMapTraceOp, "expected at most {} entr{} in {}[{}] for {}, got {}",
                   type.rank(), type.rank() == 1 ? "y" : "ies", what, index, describe(type), spec);
  for (const DimSpec& dim : spec.dims()) {
    if (dim.open)
      sharding_error(kShardMapTraceOp,
                     "expected every dimension of {}[{}] to be decided, got {}; write None or axes",
                     what, index, spec);
    for (const AxisRef& axis : dim.axes) {
      if (!axis.is_whole())
        sharding_error(kShardMapTraceOp, "expected whole axes in {}[{}], got the part {} in {}",
                       what, index, axis, spec);
      if (!contains(manual, axis.name))
        sharding_error(kShardMapTraceOp,
                       "expected axes that are manual here, of '{}', in {}[{}], got '{}' in {}{}",
                       fmt::join(manual, "', '"), what, index, axis.name, spec,
                       mesh.has_axis(axis.name) ? "; add it to axis_names" : "");
    }
  }
  if (!spec.replicated().empty())
    sharding_error(kShardMapTraceOp, "expected no axes kept replicated in {}[{}], got {}", what,
                   index, spec);
}

}  // namespace

std::vector<Array> shard_map_flat(const FlatFn& body, const FlatShardMapOptions& options,
                                  std::span<const Array> args) {
  const AxisNames manual = choose_manual_axes(options);
  if (options.in_specs.size() != args.size())
    sharding_error(kShardMapTraceOp, "expected one in_spec an argument, got {} for {} arguments",
                   options.in_specs.size(), args.size());
  std::vector<Type> local;
  for (size_t k = 0; k < args.size(); ++k) {
    const Type& global = args[k].type();
    check_spec("in_specs", k, options.in_specs[k], global, options.mesh, manual);
    check_divisible(kShardMapTraceOp, NamedSharding(options.mesh, options.in_specs[k]),
                    global.shape);
    local.push_back(manual_local_type(global, options.mesh, options.in_specs[k]));
  }
  ManualComputationParams params{.mesh = options.mesh,
                                 .in_specs = options.in_specs,
                                 .manual_axes = manual,
                                 .check_vma = options.check_vma};
  TracedFunction traced;
  {
    const AxisEnv::Scope scope(options.mesh, manual, options.check_vma);
    traced = trace_function(
        [&](const std::vector<Array>& shards) {
          std::vector<Array> results = body(shards);
          params.out_specs = options.out_specs(results);
          if (params.out_specs.size() != results.size())
            sharding_error(kShardMapTraceOp,
                           "expected one out_spec a result, got {} for {} results",
                           params.out_specs.size(), results.size());
          for (size_t r = 0; r < results.size(); ++r)
            check_spec("out_specs", r, params.out_specs[r], results[r].type(), options.mesh,
                       manual);
          return results;
        },
        local, "shard_map_body");
  }
  params.body = std::make_shared<const Function>(std::move(traced.function));
  std::vector<Array> operands(args.begin(), args.end());
  for (Array& captured : traced.captures) {
    operands.push_back(std::move(captured));
    params.in_specs.emplace_back();
  }
  const SourceScope source(kShardMapTraceOp);
  return bind_op(manual_computation_op, std::move(params), operands);
}

}  // namespace tessera::control
