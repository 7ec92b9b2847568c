// Mesh: devices arranged in a grid whose axes have names. Shardings name these axes; collectives
// run along them. A mesh is immutable and cheap to copy. An abstract mesh has axes but no devices:
// programs can be partitioned for it, but not run on it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/mesh/device.h"
#include "tessera/mesh/device_mesh.h"

namespace tessera {

// Axes of a mesh, and a number of devices for each.
using AxisSizes = std::vector<std::pair<std::string, int64_t>>;

class Mesh {
 public:
  // The empty mesh, which has no axes, one position and no device.
  Mesh();
  // `axis_names` has a name for each dimension of `devices`. Throws UserError for a wrong number of
  // names or of devices, for a repeated or empty name, and for a device that is listed twice.
  Mesh(DeviceMesh devices, std::vector<std::string> axis_names);
  // A mesh of one axis.
  Mesh(std::vector<Device> devices, std::vector<std::string> axis_names);
  // Returns a mesh of any size without devices.
  static Mesh abstract(Shape axis_sizes, std::vector<std::string> axis_names);

  int64_t rank() const;
  // Returns the number of devices (of positions, if the mesh is abstract).
  int64_t size() const;
  const std::vector<std::string>& axis_names() const;
  const Shape& axis_sizes() const;
  bool has_axis(std::string_view name) const;
  // Returns the index of the axis in axis_names(); nullopt if there is no such axis.
  std::optional<int64_t> find_axis(std::string_view name) const;
  // Returns the index of the axis. Throws a UserError that lists the mesh's axes if there is no
  // such axis.
  int64_t axis_index(std::string_view name) const;
  int64_t axis_size(std::string_view name) const;

  bool is_abstract() const;
  // Returns the devices, row-major over the axes. Throws UserError if the mesh is abstract.
  const std::vector<Device>& devices() const;
  // Returns the ids of devices(), or 0, 1, ..., size() - 1 if the mesh is abstract.
  const std::vector<int64_t>& device_ids() const;
  // Returns the coordinates of the device at `position`, one for each axis.
  Dims coordinates(int64_t position) const;

  // Returns whether axes and devices are the same, in the same order. An abstract mesh equals only
  // abstract meshes.
  friend bool operator==(const Mesh& a, const Mesh& b);
  size_t hash() const;

 private:
  struct State;
  explicit Mesh(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  static std::shared_ptr<const State> make_state(Shape sizes, std::vector<std::string> names,
                                                 std::optional<std::vector<Device>> devices);
  std::shared_ptr<const State> state_;
};

// Prints `Mesh('x': 2, 'y': 4)` or `AbstractMesh('x': 4096)`.
std::ostream& operator<<(std::ostream& out, const Mesh& mesh);
inline size_t hash_value(const Mesh& mesh) { return mesh.hash(); }

// Returns the mesh over create_device_mesh(axis_sizes, options).
Mesh make_mesh(const Shape& axis_sizes, std::vector<std::string> axis_names,
               const DeviceMeshOptions& options = {});

}  // namespace tessera
