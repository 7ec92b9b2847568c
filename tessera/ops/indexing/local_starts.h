// Starts of windows relative to the shard of the indexed dimensions that a device has.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {

// Returns, for each entry of an index vector, the first row of this device's shard if operand `k`
// is sharded along the indexed dimension of that entry, and otherwise an undefined array. Returns
// no entries if no indexed dimension is sharded. `windows` has global shapes; `local` is the shape
// of the shard.
std::vector<Array> shard_offsets(const IndexedWindows& windows, int k, const Shape& local,
                                 const LocalContext& context);

// Returns the starts minus these offsets, in a signed dtype, so that starts in other devices' rows
// are outside of the shard.
Array local_starts(const IndexedWindows& windows, const std::vector<Array>& offsets,
                   const Array& starts);

}  // namespace tessera::ops
