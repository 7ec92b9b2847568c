// Ops with regions, and the sharding constraint: sdy.sharding_constraint, sdy.manual_computation
// (which shard_map traces to) and func.call. A region is a closed Function in the params; the
// pipeline inlines calls and partitions manual computations away.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::ops {

// The identity. Propagation may not change the sharding of its result in dimensions where the spec
// is closed.
struct ShardingConstraintParams {
  NamedSharding sharding;
};
extern const OpDef& sharding_constraint_op;

// Runs `body` on every device of the mesh's manual axes, on the device's part of each operand:
// in_specs describe these parts, out_specs how the results are combined. All other axes of the mesh
// stay automatic inside: the types in the body of a partial manual computation are local along the
// manual axes and global along the others. Nested computations add manual axes of the same mesh.
struct ManualComputationParams {
  Mesh mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  std::vector<std::string> manual_axes;  // those that this computation makes manual, sorted
  bool check_vma = true;  // rejects out_specs that claim replication of a varying result
  FunctionRef body;
};
extern const OpDef& manual_computation_op;

// Applies the function `callee` to the operands.
struct CallParams {
  FunctionRef callee;
};
extern const OpDef& call_op;

// Returns the axes that a spec names, sorted, without repetition.
AxisNames axes_of(const PartitionSpec& spec);
// Returns the type of the part that one device of a manual computation sees: extents are divided,
// and it also varies over the axes of the spec.
Type manual_local_type(const Type& global, const Mesh& mesh, const PartitionSpec& spec);
// Returns the type outside of the computation of a result of the body; the inverse of
// manual_local_type.
Type manual_global_type(const Type& local, const Mesh& mesh, const PartitionSpec& spec,
                        const AxisNames& manual_axes);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x with this sharding. Throws UserError if the spec has more entries than x has
// dimensions.
Array sharding_constraint(const Array& x, const NamedSharding& sharding);

}  // namespace tessera::lax
