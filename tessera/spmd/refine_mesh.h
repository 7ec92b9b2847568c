// refine_mesh: the mesh that a partitioned program runs on. If a sharding of the propagated
// function uses a part of an axis, the axis is split there ('x' becomes 'x/0', 'x/1', ..., major
// first), so that collectives name whole axes only.
#pragma once

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"

namespace tessera::spmd {

Mesh refine_mesh(const Mesh& mesh, const Function& propagated);

}  // namespace tessera::spmd
