// prune_control: removes from loops and branches what nobody needs.
//
// Before: a Function whose loops may carry values that nobody reads.
// After:  no dead op; a scan carries only what a live result or another live carry needs, and its
//         invariant carries (which the body returns unchanged) become its constants; results and
//         operands of a branch that nobody reads are removed. Derivatives and pruned outputs of jit
//         leave such values behind.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function prune_control(const Function& function);

}  // namespace tessera::sharding
