// The groups of devices of a collective, the bytes that it sends, and one struct for the params of
// all collectives.
#pragma once

#include <vector>

#include "tessera/ir/function.h"
#include "tessera/ir/lowering.h"
#include "tessera/mesh/mesh.h"

namespace tessera::ops {

// Parses "x" or "x:(1)2", as AxisRef prints; throws UserError otherwise.
AxisRef parse_axis_ref(std::string_view text);

// Returns the product of the axes' sizes: the number of ranks.
int64_t axes_size(const Mesh& mesh, const std::vector<std::string>& axes);
// Returns the number of ranks in a group: all if `groups` is empty, otherwise those of the largest
// group (groups of an all_reduce and of a broadcast may differ in size).
int64_t group_size(const Mesh& mesh, const std::vector<std::string>& axes,
                   const std::vector<Dims>& groups);
// Returns all groups of devices (positions in the mesh) of a collective, each in the order of
// ranks. On ('x': 2, 'y': 4) with axes {"y"}:
//   no groups              {0 1 2 3}, {4 5 6 7}
//   groups {0 2}, {1 3}    {0 2}, {1 3}, {4 6}, {5 7}
std::vector<std::vector<int64_t>> device_groups(const Mesh& mesh,
                                                const std::vector<std::string>& axes,
                                                const std::vector<Dims>& groups);

// The params of any collective; fields that its kind does not have keep their defaults.
struct CollectiveInfo {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  Mesh mesh;
  std::vector<std::string> axes;
  std::vector<Dims> groups;
  ReduceKind reduce = ReduceKind::kSum;
  int64_t dim = 0;         // the dimension that is gathered, scattered or split
  int64_t concat_dim = 0;  // for all_to_all only
  std::vector<Dims> pairs;
  int64_t root = 0;
};
// Returns the params of an op that has a CollectiveLowering.
CollectiveInfo collective_info(const Op& op);
// Returns the params of the collective `op` with these axes of this mesh in place of its own.
OpParams with_axes(const Op& op, const Mesh& mesh, const std::vector<std::string>& axes);

// Returns the bytes that one device sends in a ring algorithm, rounded up: 2 (n - 1) / n of the
// operand for an all_reduce over n ranks.
int64_t collective_bytes_per_device(const CollectiveInfo& info, const Type& operand);

}  // namespace tessera::ops
