// The text of StableHLO's collectives: groups of devices, which become groups of ranks along mesh
// axes, and the op that combines two values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/interchange/op_format.h"
#include "tessera/ir/reduce_kind.h"
#include "tessera/mesh/mesh.h"

namespace tessera::interchange::formats {

using DeviceGroups = std::vector<std::vector<int64_t>>;  // positions in a mesh

// Returns the axes along which the devices of some of these groups differ, major first.
std::vector<std::string> axes_that_differ(const Mesh& mesh, const DeviceGroups& groups);

// Returns groups of ranks along `axes` that are these groups of devices, or nullopt if the lines of
// devices have different groups.
std::optional<std::vector<Dims>> rank_groups(const Mesh& mesh, const std::vector<std::string>& axes,
                                             const DeviceGroups& groups);

// The fields of a collective's params.
struct AxesAndGroups {
  std::vector<std::string> axes;
  std::vector<Dims> groups;
};
// Returns the fields for groups that contain each device once. If the groups are whole lines along
// some axes, in some order, they become these axes. Others become groups of ranks along the axes in
// which their devices differ, or along all axes.
AxesAndGroups find_axes(const Mesh& mesh, DeviceGroups groups);

// The groups in attribute `name`. They need not contain each device.
struct WrittenGroups {
  Mesh mesh;
  DeviceGroups groups;
};
WrittenGroups read_groups(std::string_view name, OpReader& reader);

// Returns the kind of the only region. It is not kCustom.
ReduceKind read_combiner(OpReader& reader);

// Adds the ragged_all_to_all that JAX writes as a custom call of that name, and returns its result.
std::vector<ValueId> ragged_all_to_all_call(OpReader& reader);
// Reads stablehlo.cross-replica-sum and returns its result.
std::vector<ValueId> cross_replica_sum(OpReader& reader);

}  // namespace tessera::interchange::formats
