// Small collectives become one: those of one kind over the same axes, none of which waits for another,
// are one op of several operands at the place of the last. What reads the others follows it.
//
//   %a = all_reduce(%x)                       %c = negate(%z)
//   %b = negate(%a)                    ->     %a, %d = all_reduce(%x, %c)
//   %c = negate(%z)                           %b = negate(%a)
//   %d = all_reduce(%c)
//
// The gradients of a data-parallel step are a few messages then, one for so many bytes that its
// latency no longer counts: sums go out while what is before them is still being computed. Weights
// that a step gathers come together, and their gradients are scattered together.
#pragma once

#include <vector>

#include "tessera/ir/function.h"
#include "tessera/spmd/reasons.h"

namespace tessera::spmd {

// Larger arrays are sent by themselves, and no more than this together: bytes of results.
inline constexpr int64_t kCombinedBytes = int64_t{4} << 20;

// Of a partitioned function, and of the regions in it. What became one has a reason that names
// theirs.
Function combine_collectives(const Function& function, std::vector<Reason>& reasons);

}  // namespace tessera::spmd
