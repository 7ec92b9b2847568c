// without_calls: returns the same function with each call replaced by the ops of the function that
// it calls, however deep. Calls in regions of loops and branches stay.
//
//   func @f(%x) { return sine %x }
//   %1 = call @f(%0)                ->    %1 = sine %0
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function without_calls(const Function& f);

}  // namespace tessera::interchange
