// Tori: how the axes of a logical mesh are assigned to the axes of a physical one, so that the
// traffic of a logical axis uses links between neighbours. create_device_mesh uses it for TPUs.
#pragma once

#include "tessera/base/shape.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera {

// Returns TPU devices, one a chip, arranged by their coordinates as [x, y, z]. Throws UserError if
// they do not fill a cuboid, which need not begin at (0, 0, 0).
DeviceMesh physical_mesh(const std::vector<Device>& devices);

// Returns the devices of `physical`, row-major in the logical `shape`, which has as many positions.
// Logical axes are assigned from last to first; each takes the first set of free physical axes,
// larger sets first, whose product is its size. For example, for 4x4 over [2, 2, 4] the last axis
// takes the physical axes (0, 1), the first takes 2. If a logical axis finds no such set, a
// UserError is thrown, or with `allow_split` all axes are assigned again, prime factor by prime
// factor, preferring whole physical axes.
std::vector<Device> assign_to_torus(const DeviceMesh& physical, const Shape& shape,
                                    bool allow_split);

}  // namespace tessera
