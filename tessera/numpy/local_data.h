// The data of arrays that this process holds, without communication. The functions of processes.h
// and placement.h use it.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::internal {

// Returns the whole array. Throws UserError if this process does not hold all of it, and for arrays
// without data. (Array::to_host() may gather it from all processes: ClusterOptions::gather_reads.)
Literal local_literal(const Array& x);

// For each dimension the numbers of the shards that the devices of one process hold, as in
// NamedSharding::shard_coordinates.
using ProcessParts = std::vector<std::set<int64_t>>;
// Returns the parts of each process that has devices in the mesh.
std::map<int64_t, ProcessParts> process_parts(const NamedSharding& sharding, int64_t rank);

}  // namespace tessera::internal
