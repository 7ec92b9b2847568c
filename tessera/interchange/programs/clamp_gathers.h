// clamp_gathers: the starts of every gather are moved inside the array by ops of their own.
//
//   gather(x, i)   ->   gather(x, clamp(0, i, largest start))
//
// Before: a Function as it was read. StableHLO's gather moves a window that would leave the array
//         inside; its transpose, a scatter, drops such a window.
// After:  the same values; a derivative adds what comes back of a moved window where it was read.
//         (A program does not say whether its writer promised that no window leaves.)
#pragma once

#include "tessera/ir/function.h"

namespace tessera::interchange {

Function clamp_gathers(const Function& function);

}  // namespace tessera::interchange
