// Device meshes: which device is at which position of a logical grid. The physical network
// determines this: the last logical axis, which carries the most traffic, gets the devices with the
// best connections. Mesh adds names of axes to a device mesh.
#pragma once

#include <iosfwd>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/mesh/device.h"

namespace tessera {

// An nd-array of devices, row-major. `devices` has shape.elements() entries.
struct DeviceMesh {
  Shape shape;
  std::vector<Device> devices;

  friend bool operator==(const DeviceMesh&, const DeviceMesh&) = default;
};

struct DeviceMeshOptions {
  // The devices to arrange; empty means all devices().
  std::vector<Device> devices;
  // Whether several logical axes may share one physical axis of a torus, and so share its
  // bandwidth.
  bool allow_split_physical_axes = false;
};

// Returns `devices` arranged in a logical mesh of `shape`, whose axes are ordered by increasing
// traffic. The kind of the devices decides how:
//   TPU v2, v3          rings over the eight cores of a tray
//   TPU v5e, v6e, v5p   rings over the small topologies that have one
// other TPUs          each logical axis, the last one first, takes whole axes of the torus
//   other TPUs          each logical axis, the last one first, takes whole axes of the torus
// CPU                 in the order given
//   CPU                 in the order given
// torus do not fill a cuboid, and if the logical axes do not match the torus and splitting is not
// allowed.
DeviceMesh create_device_mesh(const Shape& shape, const DeviceMeshOptions& options = {});

struct HybridDeviceMeshOptions {
  std::vector<Device> devices;
  bool allow_split_physical_axes = false;
  // The slower network connects processes instead of slices.
  bool process_is_granule = false;
};

// Returns a mesh over several slices (granules). create_device_mesh arranges each granule in
// `ici_shape` and the granules in `dcn_shape`, which have the same rank; axis i of the result has
// ici_shape[i] * dcn_shape[i] positions, the slower network major. Two 2x2 slices with ici (2, 2)
// and dcn (2, 1) give [0 1] [2 3] [4 5] [6 7]. Throws UserError if the ranks differ, or if the
// number of granules, or of devices in a granule, does not fit.
DeviceMesh create_hybrid_device_mesh(const Shape& ici_shape, const Shape& dcn_shape,
                                     const HybridDeviceMeshOptions& options = {});

// Prints the ids, nested like the shape: `[[0, 1], [2, 3]]`.
std::ostream& operator<<(std::ostream& out, const DeviceMesh& mesh);

}  // namespace tessera
