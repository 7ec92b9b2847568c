// split_sorts: splits a sort along a sharded dimension if only the first k elements are read
// (top_k) and k is small. Each shard sorts its own part, and the first k elements of every shard
// are sorted once more.
//
//   f32[16, 512] sharded by "x": 8 along dimension 1, k = 4
//     reshape to [16, 8, 64], sort along dimension 2, slice to [16, 8, 4], reshape to [16, 32]:
//       nothing is sent
//     sort along dimension 1: 32 numbers of a row are gathered instead of 512
//
// Before: a propagated Function.
// After:  the same values. A stable order stays stable, since the shards, and the equal elements in
//         each, are in order. Other sorts are not split: the partitioner shards another dimension
//         during the sort, or gathers them.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_sorts(const Function& function);

}  // namespace tessera::sharding
