// A scatter as a library call: the updates are folded in at the speed of memory, in parallel where
// that takes less time. Each element gets its updates in the order of the windows, so that the
// result has the same bits whatever the number of threads.
#pragma once

#include "tessera/ir/lowering.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

// Returns the call. Where a result is its array's memory, it writes the elements that windows name,
// and touches no others.
HostCall scatter_call(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results);

}  // namespace tessera::ops
