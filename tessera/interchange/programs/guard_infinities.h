// guard_infinities: a product with infinity that only some elements select becomes a product with
// one for the other elements.
//
//   select(p, x * inf, y)   ->   select(p, select(p, x, 1) * inf, y)
//
// Before: a Function as it was read. StableHLO expands erf_inv like this, to be infinite at -1 and
// 1.
// After:  the same values; in the reverse derivative, elements that select y get 0 instead of
//         0 * inf, which is NaN.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function guard_infinities(const Function& function);

}  // namespace tessera::interchange
