#include "tessera/compile/shard_map.h"

#include "tessera/control/shard_map_trace.h"

namespace tessera::internal {

using namespace compile;

namespace {

ErasedResult shard_map_traced(const ShardMapOptions& options, const ErasedCall& call,
                              const std::vector<Array>& leaves) {
  ErasedResult result;  // its tree has the body's tracers as leaves
  std::vector<PartitionSpec> out_specs;
  const FlatFn body = [&](const std::vector<Array>& inputs) {
    result = call(inputs);
    out_specs =
        options.out_specs.of_result("shard_map", "out_specs", result.outline(result.tree.get()));
    return result.leaves;
  };
  const std::vector<std::string> axes(options.axis_names.begin(), options.axis_names.end());
  result.leaves = shard_map_flat(
      body,
      FlatShardMapOptions{.mesh = options.mesh,
                          .in_specs = options.in_specs.of_arguments("shard_map", "in_specs",
                                                                    call.argument_outlines()),
                          .out_specs = [&](std::span<const Array>) { return out_specs; },
                          .manual_axes = axes,
                          .check_vma = options.check_vma},
      leaves);
  return result;
}

}  // namespace

ErasedResult shard_map_erased(const ShardMapOptions& options, const ErasedCall& call,
                              const std::vector<Array>& leaves) {
  const ErasedFn traced = [&](const std::vector<Array>& x) {
    return shard_map_traced(options, call, x);
  };
  return run_under_trace("shard_map", traced, leaves);
}

}  // namespace tessera::internal
