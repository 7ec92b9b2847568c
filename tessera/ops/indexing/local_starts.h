// Starts of windows as a device counts them that has a shard of the indexed dimensions.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {

// For each entry of an index vector the first row of this device's shard, where operand `k` is cut
// along the indexed dimension of that entry, else undefined; empty where none is. `windows` are the
// global ones, `local` is the shape of the shard.
std::vector<Array> shard_offsets(const IndexedWindows& windows, int k, const Shape& local,
                                 const LocalContext& context);

// The starts less these offsets, of a signed dtype: those of other devices' rows are not inside.
Array local_starts(const IndexedWindows& windows, const std::vector<Array>& offsets,
                   const Array& starts);

}  // namespace tessera::ops
