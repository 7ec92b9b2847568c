// guard_infinities: a product with infinity that only some elements take is a product of one
// elsewhere.
//
//   select(p, x * inf, y)   ->   select(p, select(p, x, 1) * inf, y)
//
// Before: a Function as it was read. StableHLO writes erf_inv out so, to be infinite at -1 and 1.
// After:  the same values; backwards, elements that take y get 0 instead of 0 * inf, which is NaN.
#pragma once

#include "tessera/ir/function.h"

namespace tessera::interchange {

Function guard_infinities(const Function& function);

}  // namespace tessera::interchange
