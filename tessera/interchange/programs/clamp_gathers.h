// clamp_gathers: ops before each gather move its starts inside the array.
//
//   gather(x, i)   ->   gather(x, clamp(0, i, largest start))
//
// Before: a Function as it was read. StableHLO's gather moves a window that would leave the array
//         inside; its transpose, a scatter, drops such a window.
// After:  the same values; the derivative of a moved window is added where the window was read. (A
//         program does not say whether its author promised that no window leaves the array.)
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function clamp_gathers(const Function& function);

}  // namespace tessera::interchange
