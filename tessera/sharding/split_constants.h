// split_constants: gives each user of a constant a constant of its own.
//
// Before: a Function in which one constant, or a value computed from constants alone (a mask, a
//         table of positions) or from one scalar, may have many users.
// After:  the same, but each user has its own, so that propagation does not tie together the
//         shardings of unrelated values. Those that stay equal with equal shardings become one
//         again after partition. A member of a sharding group stays one value, so that its users
//         read what the group shards.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_constants(const Function& function);

}  // namespace tessera::sharding
