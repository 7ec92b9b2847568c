// loop_over_windows: scatters with a body of the user's, which updates elements by more than one
// op, become loops over their windows.
//
//   y = scatter(x, indices, updates, body)
//     -> y = scan over the windows, with the carry x:
//              old = dynamic_slice(x, index)
//              new = body(old, update)
//              x = dynamic_update_slice(x, select(0 <= index <= n - 1, new, old), index)
//
// A window that is not inside of x is dropped whole: both slices are moved inside, and the old
// elements are written again. Such a loop is one function of machine code
// (codegen/routines/routine.h) that updates x in place, while the host call evaluates the body op
// by op.
//
// Before: a simplified function, so scatters of arrays that the body does not mix are divided.
// After:  only scatters of known kinds, and those of sharded values, whose loops would be
//         interpreted.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::fusion {

Function loop_over_windows(const Function& function);

}  // namespace tessera::fusion
