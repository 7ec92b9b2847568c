// Shardings as GSPMD writes them, `mhlo.sharding = "{devices=[2,1,4]<=[8]
// last_tile_dim_replicate}"` (XLA's HloSharding). They become shardings over a mesh of one axis,
// whose parts shard the dimensions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tessera/base/namespaces.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera::interchange {

// The axis of the mesh. Its devices are the program's partitions.
inline constexpr std::string_view kPartitionAxis = "partitions", kReplicaAxis = "replicas";

struct HloSharding {
  // One entry for each dimension of the array; nullopt if the text leaves the sharding open
  // ({unknown}).
  std::optional<PartitionSpec> spec;
  std::string problem;  // why the text cannot be expressed like this; empty if it can
};

// Returns the sharding of an array of rank `rank`; `partitions` is the size of the axis.
// {replicated} shards no dimension.
//   {devices=[2,1,2]<=[4] last_tile_dim_replicate}   ('partitions':(1)2, None)
//   {devices=[2,2]<=[2,2]T(1,0)}                     ('partitions':(2)2, 'partitions':(1)2)
HloSharding parse_hlo_sharding(std::string_view text, int64_t rank, int64_t partitions);

}  // namespace tessera::interchange
