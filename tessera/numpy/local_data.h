// What this process holds of an array by itself, without a word to the others: what the functions of
// processes.h and placement.h start from.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "tessera/ir/array.h"

namespace tessera::internal {

// The whole array, all of which must be here: UserError otherwise, and for arrays without data.
// Array::to_host() may gather it from all processes instead (ClusterOptions::gather_reads).
Literal local_literal(const Array& x);

// Which parts of each dimension the devices of one process hold: numbers of shards, as
// NamedSharding::shard_coordinates has them.
using ProcessParts = std::vector<std::set<int64_t>>;
// By process, of those that have devices in the mesh.
std::map<int64_t, ProcessParts> process_parts(const NamedSharding& sharding, int64_t rank);

}  // namespace tessera::internal
