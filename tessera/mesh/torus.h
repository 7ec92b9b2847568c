// Tori: how the axes of a logical mesh are laid along the axes of a physical one, so that the
// traffic of a logical axis runs over neighbouring links. Used by create_device_mesh for TPUs.
#pragma once

#include "tessera/base/shape.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera {

// TPU devices, one a chip, arranged by their coordinates as [x, y, z]. UserError where they do not
// fill a cuboid; it need not begin at (0, 0, 0).
DeviceMesh physical_mesh(const std::vector<Device>& devices);

// The devices of `physical`, row-major in the logical `shape`. Logical axes are served from last to
// first; each takes the first set of free physical axes, larger sets first, whose product is its
// size. 4x4 over [2, 2, 4]: the last axis takes physical (0, 1), the first takes 2. Where a logical
// axis finds no set: UserError, or with `allow_split` all axes are assigned anew, prime factor by
// prime factor, preferring whole physical axes. `shape` has as many positions as `physical`.
std::vector<Device> assign_to_torus(const DeviceMesh& physical, const Shape& shape,
                                    bool allow_split);

}  // namespace tessera
