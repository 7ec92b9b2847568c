// The core of shard_map: a body over flat lists of arrays, called once with tracers of what one
// device sees, becomes a manual_computation. Trees, defaults and options of the user's front are
// not here.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/mesh/mesh.h"

namespace tessera::control {

struct FlatShardMapOptions {
  Mesh mesh;
  // One an argument: the mesh axes along which each dimension is cut. Axes not named: every device
  // gets the same.
  std::vector<PartitionSpec> in_specs;
  // One a result, asked for once the body's results are known.
  std::function<std::vector<PartitionSpec>(std::span<const Array> results)> out_specs;
  // The axes that are manual in the body; empty: all of the mesh that are not manual already. The
  // others stay automatic.
  std::vector<std::string> manual_axes = {};
  // Whether an out_spec that claims replication of a result that varies is refused.
  bool check_vma = true;
};

// What the body captures of outside is passed to every device whole. Outside of any trace the
// computation runs at once. UserErrors: specs that are longer than an array has dimensions, name
// axes that are not manual here, name parts of axes or leave dimensions unconstrained; extents that
// the axes do not divide; a nested call on another mesh or on axes that are manual already; an
// out_spec that does not name an axis along which the result varies.
std::vector<Array> shard_map_flat(const FlatFn& body, const FlatShardMapOptions& options,
                                  std::span<const Array> args);

}  // namespace tessera::control
