// What the text of others' collectives says: devices in groups, which become ranks along mesh axes,
// and how two values are combined.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/interchange/op_format.h"
#include "tessera/ir/reduce_kind.h"
#include "tessera/mesh/mesh.h"

namespace tessera::interchange::formats {

using DeviceGroups = std::vector<std::vector<int64_t>>;  // positions in a mesh

// Axes along which some of these sets of devices differ, major first.
std::vector<std::string> axes_that_differ(const Mesh& mesh, const DeviceGroups& groups);

// Groups of ranks along `axes` that give these groups of devices, if all lines of devices have the
// same.
std::optional<std::vector<Dims>> rank_groups(const Mesh& mesh, const std::vector<std::string>& axes,
                                             const DeviceGroups& groups);

// As fields of a collective's params.
struct AxesAndGroups {
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};
// Of groups that hold each device once. Those that are whole lines along some axes, in some order,
// are these axes; others are groups of ranks along the axes in which their devices differ, or along
// all.
AxesAndGroups find_axes(const Mesh& mesh, DeviceGroups groups);

// The groups that attribute `name` holds, which need not hold each device.
struct WrittenGroups {
  Mesh mesh;
  DeviceGroups groups;
};
WrittenGroups read_groups(std::string_view name, OpReader& reader);

// Of the only region, not kCustom.
ReduceKind read_combiner(OpReader& reader);

}  // namespace tessera::interchange::formats
