// Combines small collectives: those of one kind over the same axes, none of which needs the result
// of another, become one op of several operands at the position of the last. Readers of the others
// are moved after it.
//
//   %a = all_reduce(%x)                       %c = negate(%z)
//   %b = negate(%a)                    ->     %a, %d = all_reduce(%x, %c)
//   %c = negate(%z)                           %b = negate(%a)
//   %d = all_reduce(%c)
//
// The gradients of a data-parallel step then are a few messages, each so large that its latency no
// longer counts; sums are sent while those of earlier layers are still being computed. The weights
// that a step gathers are also sent together, and so are their gradients.
#pragma once

#include <vector>

#include "tessera/ir/function.h"
#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// Larger arrays are not combined, and together the results have no more bytes than this.
inline constexpr int64_t kCombinedBytes = int64_t{4} << 20;

// Returns the partitioned function with this done in it and in its regions. A combined collective
// has a reason that lists theirs.
Function combine_collectives(const Function& function, std::vector<Reason>& reasons);

}  // namespace tessera::spmd
