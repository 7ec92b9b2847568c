// Chooses the parts of sums that leave a program as parts (replicated_to_unreduced). Without this,
// the first device along the axes has the whole sum and the others have zeros. If the value comes
// from an all_reduce over these axes, each device keeps its own summand instead, and if it comes
// from an all_gather, its own rows:
//
//   %s = all_reduce(%x) over x
//   %t = transpose(%s)                       ->    %t = transpose(%x)
//   %p = replicated_to_unreduced(%t)
//
// So a sum that is to stay in parts sends nothing.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/mesh.h"

namespace tessera::spmd {

// Returns the partitioned function without replicated_to_unreduced ops, in it and in its regions.
Function choose_parts(const Function& function, const Mesh& mesh);

}  // namespace tessera::spmd
