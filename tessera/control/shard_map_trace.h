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
  // For each argument: the mesh axes that shard each dimension. Along axes that are not named every
  // device gets the same part.
  std::vector<PartitionSpec> in_specs;
  // Returns a spec for each result. It is called once the body's results are known.
  std::function<std::vector<PartitionSpec>(std::span<const Array> results)> out_specs;
  // The axes that are manual in the body; empty: all axes of the mesh that are not manual yet. The
  // others stay automatic.
  std::vector<std::string> manual_axes = {};
  // Whether an out_spec is rejected that claims replication of a result that varies.
  bool check_vma = true;
};

// Returns the results. Arrays that the body captures are passed to every device whole. Outside of
// any trace the computation runs at once. Throws UserError for specs that have more entries than an
// array has dimensions, name axes that are not manual here, name parts of axes or leave dimensions
// unconstrained; for extents that the axes do not divide; for a nested call on another mesh or on
// axes that are manual already; and for an out_spec that does not name an axis along which the
// result varies.
std::vector<Array> shard_map_flat(const FlatFn& body, const FlatShardMapOptions& options,
                                  std::span<const Array> args);

}  // namespace tessera::control
