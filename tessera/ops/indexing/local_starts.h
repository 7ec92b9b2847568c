// Starts of windows relative to the shard of the indexed dimensions that a device has.
#pragma once

#include <vector>

#include "tessera/ir/op_def.h"
#include "tessera/ops/indexing/indexed_windows.h"

namespace tessera::ops {

// Returns, for each entry of an index vector, the first row of this device's shard if operand `k`
// is sharded along the indexed dimension of that entry, else an undefined array; nothing if none is
// sharded. `windows` are the global ones, `local` is the shape of the shard.
std::vector<Array> shard_offsets(const IndexedWindows& windows, int k, const Shape& local,
                                 const LocalContext& context);

// Returns the starts less these offsets, of a signed dtype: starts in other devices' rows are not
// inside.
Array local_starts(const IndexedWindows& windows, const std::vector<Array>& offsets,
                   const Array& starts);

}  // namespace tessera::ops
