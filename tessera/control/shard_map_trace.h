// The core of shard_map: a body over flat lists of arrays is called once with tracers of the values
// that one device sees, and becomes a manual_computation. compile/shard_map.h adds trees, defaults
// and options for users.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/array.h"
#include "tessera/mesh/mesh.h"

namespace tessera::control {

struct FlatShardMapOptions {
  Mesh mesh;
  // One spec for each argument: the mesh axes that shard each dimension. Along other axes, all
  // devices get the same part.
  std::vector<PartitionSpec> in_specs;
  // Returns a spec for each result. It is called once the body's results are known.
  std::function<std::vector<PartitionSpec>(std::span<const Array> results)> out_specs;
  // The axes that become manual in the body; the others stay automatic. If it is empty, all axes of
  // the mesh that are not manual yet become manual.
  std::vector<std::string> manual_axes = {};
  // Whether it is an error if an out_spec claims that a varying result is replicated.
  bool check_vma = true;
};

// Returns the results of the manual computation. Every device gets the whole of each array that the
// body captures. Outside of any trace the computation runs at once. Throws UserError for a spec
// that has more entries than its array has dimensions, names axes that are not manual here or parts
// of axes, or leaves dimensions unconstrained; for extents that the axes do not divide; for a
// nested call on another mesh or on axes that are manual already; and, with check_vma, for an
// out_spec that does not name an axis over which the result varies.
std::vector<Array> shard_map_flat(const FlatFn& body, const FlatShardMapOptions& options,
                                  std::span<const Array> args);

}  // namespace tessera::control
