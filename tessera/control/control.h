// Ops with regions, and the constraint: sdy.sharding_constraint, sdy.manual_computation (what
// shard_map traces to) and func.call. A region is a closed Function in the params; the pipeline
// inlines calls and partitions manual computations away.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::ops {

// The identity; propagation may not change the sharding of its result where the spec is closed.
struct ShardingConstraintParams {
  NamedSharding sharding;
};
extern const OpDef& sharding_constraint_op;

// Runs `body` on every device of the mesh's manual axes, on the device's part of each operand:
// in_specs say which, out_specs how the results are put together. All other axes of the mesh stay
// automatic inside: a partial manual computation's body has types local along the manual axes and
// global along the others. Nested ones add manual axes of the same mesh.
struct ManualComputationParams {
  Mesh mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  std::vector<std::string> manual_axes;  // those this computation makes manual, sorted
  bool check_vma = true;  // refuse out_specs that claim replication of a varying result
  FunctionRef body;
};
extern const OpDef& manual_computation_op;

// Applies the function `callee` to the operands.
struct CallParams {
  FunctionRef callee;
};
extern const OpDef& call_op;

// The axes a spec names, sorted, each once.
AxisNames axes_of(const PartitionSpec& spec);
// The part of a value that one device of a manual computation sees: extents divided, varying over
// the spec's axes too.
Type manual_local_type(const Type& global, const Mesh& mesh, const PartitionSpec& spec);
// The inverse: the type outside of a body's result.
Type manual_global_type(const Type& local, const Mesh& mesh, const PartitionSpec& spec,
                        const AxisNames& manual_axes);

}  // namespace tessera::ops

namespace tessera::lax {

// x laid out as `sharding` says, from here on. UserError where the spec is longer than x has
// dimensions.
Array sharding_constraint(const Array& x, const NamedSharding& sharding);

}  // namespace tessera::lax
