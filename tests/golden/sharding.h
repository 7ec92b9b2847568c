// Reads meshes and specs of the golden data.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"
#include "tests/golden/golden.h"

namespace tessera::golden {

// Returns the mesh of {"shape": [2, 4], "names": ["x", "y"]}, without devices.
inline Mesh abstract_mesh(const Json& json) {
  return Mesh::abstract(dims(json.at("shape")), json.at("names").get<std::vector<std::string>>());
}

// Returns the spec of [["x"], [], ["y", "z"]]: the axes of each dimension.
inline PartitionSpec spec(const Json& json) {
  std::vector<DimSpec> out;
  for (const Json& axes : json) {
    std::vector<AxisRef> refs;
    for (const Json& axis : axes) refs.push_back({axis.get<std::string>()});
    out.emplace_back(std::move(refs));
  }
  return PartitionSpec(std::move(out));
}

}  // namespace tessera::golden
