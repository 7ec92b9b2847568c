// compute_as: runs a program as if its mesh's axes had more devices than they really have.
//
// Each device then acts as several smaller ones, which only affects how the program is sharded.
// With {"x", 8}, results have the same bits on 1, 2, 4 and 8 devices along x, because the program
// is in each case the one for 8. The rewriting happens between tracing and the pipeline, which sees
// only the finer mesh.
#pragma once

#include "tessera/ir/function.h"
#include "tessera/sharding/propagate.h"

namespace tessera::sharding {

// Returns the mesh with these sizes; its devices exist only for the program. Throws UserError if
// the mesh lacks an axis, if an axis is named twice, or if a size is not a positive multiple of the
// axis's real size.
Mesh finer_mesh(const Mesh& mesh, const AxisSizes& sizes);
NamedSharding on_finer_mesh(const NamedSharding& sharding, const AxisSizes& sizes);
// Returns the function with all shardings on the finer mesh, including those in loops and branches;
// calls are inlined. Throws UserError if it contains a shard_map, since its body is written for the
// mesh it was given.
Function on_finer_mesh(const Function& function, const AxisSizes& sizes);
// Returns the request on the finer mesh of its compute_as; in the result compute_as is empty.
ShardingRequest on_finer_mesh(const ShardingRequest& request);
// Returns a sharding of the finer mesh on the coarser one. A dimension that is sharded over only a
// part of a real device's axis is not sharded in the result.
NamedSharding on_coarser_mesh(const NamedSharding& sharding, const Mesh& mesh);

}  // namespace tessera::sharding
