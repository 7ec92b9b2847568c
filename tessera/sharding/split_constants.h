// split_constants: gives each user of a constant its own copy.
//
// Before: a Function in which one constant may have many users. A constant is also a value computed
//         from constants alone (a mask, a table of positions) or from one scalar.
// After:  each user has its own copy, so that propagation does not force the shardings of unrelated
//         values to be equal. Copies with equal shardings become one again after partition. Members
//         of a sharding group are not copied, so that their users read what the group shards.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_constants(const Function& function);

}  // namespace tessera::sharding
