// Sums over devices wait for what makes them smaller: an all_reduce whose result only goes through
// linear ops, on to a sum over dimensions of its own, follows that sum.
//
//   %s = all_reduce(%x) : [8, 128, 128]        %t = multiply(%x, %y)
//   %t = multiply(%s, %y)                ->    %u = reduce_sum(%t) : [8]
//   %u = reduce_sum(%t) : [8]                  %v = all_reduce(%u)
//
// where %y is the same on the devices that are summed over. So squared norms of gradients by weights
// that are cut send a number for each example, not what they are made of.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::spmd {

// Of a partitioned function, and of the regions in it.
Function late_sums(const Function& function);

}  // namespace tessera::spmd
