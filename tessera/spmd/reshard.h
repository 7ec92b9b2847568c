// Resharding: changes the sharding of a value by the cheapest sequence of slices, permutations,
// all-to-alls and gathers.
//
// The planner searches the intermediate shardings (A* over the bytes that a device receives), so it
// never replicates an array that can be moved in pieces by a cheaper path. Uneven dimensions are
// padded when they are sharded; their shards move as a whole if their storage fits. Example:
// f32[64, 64] on ('x': 2, 'y': 4), from ["x", -] to ["y", -], with 1/4 of the bytes of a gather and
// a slice:
//   slice dim 0 by "y" (local)
//   permute ["x","y"] -> ["y","x"]
//   all_gather "x"
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

// The least cost of a step besides its bytes. It is about the latency of a link (bytes_of_latency
// in cost.h), so that among equally cheap plans the one with the fewest steps wins.
inline constexpr int64_t kReshardStepCost = 512;

struct ReshardStep {
  enum class Kind : uint8_t { kSlice, kPermute, kAllToAll, kAllGather } kind;
  int dim = 0;     // the dimension; kAllToAll: the one that loses the axes
  int to_dim = 0;  // kAllToAll: the dimension that gets the axes
  AtomList atoms;  // the axes that move
  DimAtoms before, after;
  int64_t bytes = 0;  // that each device receives
};

// Returns the steps from the sharding `from` to `to`; none if they are equal.
std::vector<ReshardStep> plan_reshard(const AtomMesh& mesh, const Shape& global, DType dtype,
                                      const DimAtoms& from, const DimAtoms& to);

// Returns the shape of one shard in storage.
Shape local_shape(const AtomMesh& mesh, const Shape& global, const DimAtoms& dims);

// Binds the ops of a plan to the local array `x`, in the current trace, and returns the result.
Array apply_reshard(const AtomMesh& mesh, const Shape& global, const std::vector<ReshardStep>& plan,
                    Array x);

// Returns the device's index along `atoms`, major first, as an int32 scalar.
Array atom_index(const AtomMesh& mesh, const AtomList& atoms);
// Returns the number of the first row in the device's shard of a dimension that `atoms` shard, if
// shards have `rows` rows.
Array shard_start(const AtomMesh& mesh, const AtomList& atoms, int64_t rows);
// Returns, for a shard of this shape, the global index of each element along `dim`.
Array global_rows(const AtomMesh& mesh, const AtomList& atoms, const Shape& shape, int64_t dim);

// pad_dim adds zeros at the ends of a dimension and between its elements. dynamic_rows returns
// `size` rows of a dimension from `start`, an int32 scalar, on.
Array pad_dim(const Array& x, int dim, int64_t low, int64_t high, int64_t interior = 0);
Array dynamic_rows(const Array& x, int dim, const Array& start, int64_t size);

std::string to_string(const AtomMesh& mesh, const ReshardStep& step);

}  // namespace tessera::spmd
