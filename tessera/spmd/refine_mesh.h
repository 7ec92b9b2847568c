// refine_mesh: returns the mesh that a partitioned program runs on. If a sharding of the propagated
// function uses a part of an axis, the axis is split at that point ('x' becomes 'x/0', 'x/1', ...,
// major first), so that collectives name only whole axes.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::spmd {

Mesh refine_mesh(const Mesh& mesh, const Function& propagated);

}  // namespace tessera::spmd
