// A scatter as a library call: updates are folded at the speed of memory, in parallel if that takes
// less time. Each element gets its updates in the order of the windows, so the bits of the result
// do not depend on the number of threads.
#pragma once

#include "tessera/ir/lowering.h"
#include "tessera/ops/indexing/scatter.h"

namespace tessera::ops {

// Returns the call. If a result is in the memory of its array, the call writes the elements that
// windows name, and no others.
HostCall scatter_call(const OpParams& params, std::span<const Type> operands,
                      std::span<const Type> results);

}  // namespace tessera::ops
