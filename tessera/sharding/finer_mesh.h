// compute_as: runs a program as if axes of its mesh had more devices than they have.
//
// Each device then stands for several smaller ones, which only affects how the program is sharded:
// the results of {"x", 8} have the same bits on 1, 2, 4 and 8 devices along x, because all four run
// the program for 8. The rewriting happens between tracing and the pipeline, which sees only the
// finer mesh.
#pragma once

#include "tessera/ir/function.h"
#include "tessera/sharding/propagate.h"

namespace tessera::sharding {

// Returns the mesh with these sizes, whose devices exist only for the program. Throws UserError if
// the mesh lacks an axis, if an axis is named twice, or if a size is not a positive multiple of the
// axis's.
Mesh finer_mesh(const Mesh& mesh, const AxisSizes& sizes);
NamedSharding on_finer_mesh(const NamedSharding& sharding, const AxisSizes& sizes);
// Returns the function with all shardings on the finer mesh, also those of loops and branches;
// calls are inlined. Throws UserError if it contains a shard_map, whose body is written for the
// mesh it was given.
Function on_finer_mesh(const Function& function, const AxisSizes& sizes);
// Returns the request on the finer mesh of its own compute_as, which is empty in the result.
ShardingRequest on_finer_mesh(const ShardingRequest& request);
// The inverse. Dimensions that are sharded over a part of a finer axis are not sharded in the
// result.
NamedSharding on_coarser_mesh(const NamedSharding& sharding, const Mesh& mesh);

}  // namespace tessera::sharding
