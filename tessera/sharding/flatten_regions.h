// flatten_regions: replaces calls and manual computations by their bodies, so that further passes
// see one flat function.
//
// Before: ops with regions (func.call, sdy.manual_computation), nested in any way.
// After:  no such op; the borders of a manual computation are tessera.full_to_shard and
//         tessera.shard_to_full, and the shapes between them are those that one device sees along
//         the manual axes. Loops and branches keep their regions, which are flat, too.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::sharding {

Function flatten_regions(const Function& function);

}  // namespace tessera::sharding
