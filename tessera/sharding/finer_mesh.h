// compute_as: a program run as if axes of its mesh had more devices than they have.
//
// Each device then stands for several smaller ones, which is only a matter of how the program is
// cut: the results of {"x", 8} are the same bits on 1, 2, 4 and 8 devices along x, because all four
// run the program of 8. The rewriting happens between tracing and the pipeline, which sees nothing
// but the finer mesh.
#pragma once

#include "tessera/ir/function.h"
#include "tessera/sharding/propagate.h"

namespace tessera::sharding {

// The mesh with these sizes, of devices that exist only for the program. UserError where the mesh
// lacks an axis, an axis is named twice, or a size is not a positive multiple of the axis's.
Mesh finer_mesh(const Mesh& mesh, const AxisSizes& sizes);
NamedSharding on_finer_mesh(const NamedSharding& sharding, const AxisSizes& sizes);
// All shardings in it, those of loops and branches too; calls are inlined. UserError where it holds
// a shard_map, whose body is written for the mesh it was given.
Function on_finer_mesh(const Function& function, const AxisSizes& sizes);
// By its own compute_as, which is empty in the result.
ShardingRequest on_finer_mesh(const ShardingRequest& request);
// Back again. Dimensions that are cut over a part of a finer axis are not cut.
NamedSharding on_coarser_mesh(const NamedSharding& sharding, const Mesh& mesh);

}  // namespace tessera::sharding
