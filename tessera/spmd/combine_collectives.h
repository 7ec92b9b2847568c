// Combines small collectives. Collectives of one kind over the same axes, none of which needs the
// result of another, become one op with several operands at the position of the last one. Readers
// of the others' results move after it.
//
//   %a = all_reduce(%x)                       %c = negate(%z)
//   %b = negate(%a)                    ->     %a, %d = all_reduce(%x, %c)
//   %c = negate(%z)                           %b = negate(%a)
//   %d = all_reduce(%c)
//
// The gradients of a data-parallel step then are a few messages, each so large that its latency
// does not matter; gradients are summed while those of earlier layers are still being computed. The
// weights that a step gathers are also sent together, and so are their gradients.
#pragma once

#include <vector>

#include "tessera/ir/function.h"
#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// Larger arrays are not combined, and the results of one op have at most this many bytes together.
inline constexpr int64_t kCombinedBytes = int64_t{4} << 20;

// Returns the partitioned function with collectives combined in it and in its regions. The reason
// of a combined collective lists the reasons of its parts.
Function combine_collectives(const Function& function, std::vector<Reason>& reasons);

}  // namespace tessera::spmd
