// without_calls: returns the same function with the functions that its own ops call in their place.
// Regions of loops and branches keep their calls.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::interchange {

Function without_calls(const Function& f);

}  // namespace tessera::interchange
