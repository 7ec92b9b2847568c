// split_sorts: a sort along a sharded dimension of which only the first k elements are read
// (top_k), with a small k. Each shard sorts its own part, and the first k of every shard are sorted
// once more.
//
//   f32[16, 512] sharded by "x": 8 along dimension 1, k = 4
//     reshape to [16, 8, 64], sort along dimension 2, slice to [16, 8, 4], reshape to [16, 32]:
//       nothing is sent
//     sort along dimension 1: 32 numbers of a row are gathered instead of 512
//
// Before: a propagated Function.
// After:  the same values: a stable order stays stable, since shards, and the equal elements in each,
//         are in order. Other sorts stay: the partitioner shards another dimension instead meanwhile,
//         or gathers them.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_sorts(const Function& function);

}  // namespace tessera::sharding
