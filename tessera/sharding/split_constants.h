// split_constants: a constant for each of its users.
//
// Before: a Function in which one constant, or something made of constants alone (a mask, a table
//         of positions) or of one scalar, may have many users.
// After:  the same, but each user has its own, so that propagation does not tie together the
//         shardings of values that have nothing to do with each other. What stays equal and is cut
//         alike becomes one again after partition.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::sharding {

Function split_constants(const Function& function);

}  // namespace tessera::sharding
