// The sharding constraint, and ops with regions other than loops and branches:
// sdy.sharding_constraint, sdy.manual_computation (which shard_map traces to) and func.call. A
// region is a closed Function in the params; the pipeline inlines calls, and partition removes
// manual computations.
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::ops {

// sharding_constraint: the identity. Propagation may change the sharding of its result only in
// dimensions that are open in the spec.
struct ShardingConstraintParams {
  NamedSharding sharding;
};
extern const OpDef& sharding_constraint_op;

// Runs `body` on every device along the manual axes, on the device's part of each operand. in_specs
// describe these parts, and out_specs describe how the results are combined. All other axes of the
// mesh stay automatic inside: types in the body have local extents along the manual axes, and
// global ones along the others. Nested computations add manual axes of the same mesh.
struct ManualComputationParams {
  Mesh mesh;
  std::vector<PartitionSpec> in_specs, out_specs;
  std::vector<std::string> manual_axes;  // axes that this computation adds, sorted
  bool check_vma = true;  // out_specs may not say that a varying result is replicated
  FunctionRef body;
};
extern const OpDef& manual_computation_op;

// call: applies the function `callee` to the operands. The attributes are those that JAX's users
// give a call for XLA (mhlo.frontend_attributes): names and values in turns. They change nothing
// here and are printed again.
struct CallParams {
  FunctionRef callee;
  std::vector<std::string> frontend_attributes = {};
};
extern const OpDef& call_op;

// Returns the axes that a spec names, sorted, without repetition.
AxisNames axes_of(const PartitionSpec& spec);
// Returns the type of the part that one device of a manual computation sees: extents are divided by
// the axes of the spec, over which the type varies too.
Type manual_local_type(const Type& global, const Mesh& mesh, const PartitionSpec& spec);
// Returns the type of a result outside of the manual computation, given its type in the body. This
// is the inverse of manual_local_type.
Type manual_global_type(const Type& local, const Mesh& mesh, const PartitionSpec& spec,
                        const AxisNames& manual_axes);

}  // namespace tessera::ops

namespace tessera::lax {

// Returns x, with the constraint that it has this sharding. Throws UserError if the spec has more
// entries than x has dimensions.
Array sharding_constraint(const Array& x, const NamedSharding& sharding);

}  // namespace tessera::lax
