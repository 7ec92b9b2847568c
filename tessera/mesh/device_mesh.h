// Device meshes: which device stands where in a logical grid. The physical network decides: the
// last logical axis, which carries the most traffic, gets the best connected devices. Between the
// device list and Mesh, which adds axis names.
#pragma once

#include <fmt/ostream.h>

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
  // The devices to arrange; empty: all devices().
  std::vector<Device> devices;
  // Whether one physical axis of a torus may serve several logical axes, which then share its
  // bandwidth.
  bool allow_split_physical_axes = false;
};

// The arrangement of `devices` in a logical mesh of `shape`, axes ordered by increasing traffic. By
// kind of the devices:
//   TPU v2, v3          rings over the eight cores of a tray
//   TPU v5e, v6e, v5p   rings over the small topologies that have one
//   TPUs else           each logical axis, last first, takes whole axes of the torus
//   GPU                 by id
//   CPU                 in the order given
// UserError where the number of devices is not the product of `shape`, where the devices of a torus
// do not fill a cuboid, and where the logical axes do not match the torus and splitting is not
// allowed.
DeviceMesh create_device_mesh(const Shape& shape, const DeviceMeshOptions& options = {});

struct HybridDeviceMeshOptions {
  std::vector<Device> devices;
  bool allow_split_physical_axes = false;
  // The units of the slower network are processes instead of slices.
  bool process_is_granule = false;
};

// A mesh over several slices (granules): each granule is arranged in `ici_shape` by
// create_device_mesh, the granules in `dcn_shape`, both of one rank; axis i of the result has
// ici_shape[i] * dcn_shape[i] positions, the slower network major. Two 2x2 slices, ici (2, 2), dcn
// (2, 1): [0 1] [2 3] [4 5] [6 7]. UserError where ranks differ or where the number of granules, or
// of devices in one, does not fit.
DeviceMesh create_hybrid_device_mesh(const Shape& ici_shape, const Shape& dcn_shape,
                                     const HybridDeviceMeshOptions& options = {});

// The ids, nested as the shape: `[[0, 1], [2, 3]]`.
std::ostream& operator<<(std::ostream& out, const DeviceMesh& mesh);

}  // namespace tessera

template <>
struct fmt::formatter<tessera::DeviceMesh> : fmt::ostream_formatter {};
