// Resharding: from one sharding of a value to another by the cheapest sequence of slices,
// permutations, all-to-alls and gathers.
//
// The planner searches the intermediate shardings (A* over the bytes that a device receives), so it
// never replicates what a cheaper path can move in pieces. Uneven dimensions are padded when they
// are sharded; their shards move as a whole if their storage fits. Example, f32[64, 64] on ('x': 2,
// 'y': 4), ["x", -] -> ["y", -], at 1/4 of the bytes of gather and slice:
//   slice dim 0 by "y" (local)
//   permute ["x","y"] -> ["y","x"]
//   all_gather "x"
#pragma once

#include <string>
#include <vector>

#include "tessera/ir/array.h"
#include "tessera/sharding/atoms.h"

namespace tessera::spmd {

// What a step costs at least besides its bytes: about the latency of a link (bytes_of_latency in
// cost.h), so that among equal plans the one with fewer steps wins.
inline constexpr int64_t kReshardStepCost = 512;

struct ReshardStep {
  enum class Kind : uint8_t { kSlice, kPermute, kAllToAll, kAllGather } kind;
  int dim = 0;     // kSlice, kAllGather; kAllToAll: the dimension that loses the axes
  int to_dim = 0;  // kAllToAll: the dimension that gains them
  AtomList atoms;  // the axes moved
  DimAtoms before, after;
  int64_t bytes = 0;  // received by each device
};

// Returns an empty plan if the shardings are equal.
std::vector<ReshardStep> plan_reshard(const AtomMesh& mesh, const Shape& global, DType dtype,
                                      const DimAtoms& from, const DimAtoms& to);

// Returns the shape of one shard in storage.
Shape local_shape(const AtomMesh& mesh, const Shape& global, const DimAtoms& dims);

// Binds the ops of a plan to the local array `x`, in the current trace, and returns the result.
Array apply_reshard(const AtomMesh& mesh, const Shape& global, const std::vector<ReshardStep>& plan,
                    Array x);

// Returns the device's index along `atoms`, major first, as an int32 scalar.
Array atom_index(const AtomMesh& mesh, const AtomList& atoms);
// Returns the first row of the device's shard of a dimension that `atoms` shard, with `rows` in a
// shard.
Array shard_start(const AtomMesh& mesh, const AtomList& atoms, int64_t rows);
// Returns, for a shard of this shape, the index of each element along `dim` of the whole.
Array global_rows(const AtomMesh& mesh, const AtomList& atoms, const Shape& shape, int64_t dim);

// pad_dim adds elements (zeros) at the ends of one dimension and between its elements; slice_dim
// returns `size` elements from `start`, an int32 scalar, on.
Array pad_dim(const Array& x, int dim, int64_t low, int64_t high, int64_t interior = 0);
Array dynamic_rows(const Array& x, int dim, const Array& start, int64_t size);

std::string to_string(const AtomMesh& mesh, const ReshardStep& step);

}  // namespace tessera::spmd
