// split_sorts: of what is sorted along a cut dimension, the first k alone (top_k), where k is small: each
// shard sorts its own part, and the first k of every shard are sorted once more.
//
//   f32[16, 512] cut by "x": 8 along dimension 1, k = 4
//     reshape to [16, 8, 64], sort along dimension 2, slice to [16, 8, 4], reshape to [16, 32]: nothing is sent
//     sort along dimension 1: 32 numbers of a row are gathered instead of 512
//
// Before: a propagated Function.
// After:  the same values: a stable order stays so, since shards and what each has of equal elements
//         are in order. Sorts whose results are read otherwise stay as they are: the partitioner moves
//         their cut to another dimension and back, or gathers them.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_sorts(const Function& function);

}  // namespace tessera::sharding
