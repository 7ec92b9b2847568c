// prune_control: removes values that nobody needs from loops and branches.
//
// Before: a Function with loops that may carry values that nobody reads.
// After:  no dead op. A scan carries only what a live result or another live carry needs; carries
//         that its body returns unchanged become its constants. Results and operands of a branch
//         that nobody reads are removed. Such values come from derivatives and from outputs of jit
//         that were pruned.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function prune_control(const Function& function);

}  // namespace tessera::sharding
