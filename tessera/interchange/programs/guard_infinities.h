// guard_infinities: changes products with infinity that are selected for some elements only. For
// the other elements they become products with one.
//
//   select(p, x * inf, y)   ->   select(p, select(p, x, 1) * inf, y)
//
// Before: a Function as it was read. StableHLO's expansion of erf_inv has such products, so that it
//         is infinite at -1 and 1.
// After:  the same values. In the reverse derivative, elements that select y get 0, not the NaN of
//         0 * inf.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function guard_infinities(const Function& function);

}  // namespace tessera::interchange
