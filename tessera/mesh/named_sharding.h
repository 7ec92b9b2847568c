// NamedSharding: how an array is distributed over a mesh. Dimension d is sharded along the axes
// that the spec names for it, and the array is replicated along all other axes. IR types and arrays
// have one; propagation, partition and runtime read it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/base/shape.h"
#include "tessera/mesh/mesh.h"
#include "tessera/mesh/partition_spec.h"

namespace tessera {

// The range [start, stop) of one dimension.
struct IndexRange {
  int64_t start = 0;
  int64_t stop = 0;

  int64_t size() const { return stop - start; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
// The part of an array on one device: a range for each dimension.
using ShardIndex = std::vector<IndexRange>;
struct DeviceIndex {
  int64_t device_id = 0;
  ShardIndex index;

  friend bool operator==(const DeviceIndex&, const DeviceIndex&) = default;
};
// Prints `1:5`.
std::ostream& operator<<(std::ostream& out, const IndexRange& range);

// Returns the i-th of `shards` parts of [0, extent). In storage every part has ceil(extent /
// shards) rows; if that does not divide the extent, the last parts are shorter or empty. 10 over 8:
// 0:2 2:4 4:6 6:8 8:10 10:10 10:10 10:10.
IndexRange shard_range(int64_t extent, int64_t shards, int64_t i);

// A NamedSharding is immutable and cheap to copy.
class NamedSharding {
 public:
  // Makes the sharding with an empty spec on the empty mesh.
  NamedSharding();
  // Throws UserError if the spec names an axis that the mesh does not have, names an axis (or
  // overlapping parts of one) twice, or names a part that does not divide its axis.
  NamedSharding(Mesh mesh, PartitionSpec spec);

  const Mesh& mesh() const;
  // Returns the spec as it was given.
  const PartitionSpec& spec() const;
  // Returns the axes of dimension d, major first; none beyond the spec. Parts of one axis that
  // follow each other are joined, and a part that covers its axis is the whole axis: ("x":(1)2,
  // "x":(2)4) of an axis of size 8 is "x".
  const std::vector<AxisRef>& dim_axes(int64_t d) const;
  // Returns whether propagation may shard dimension d further.
  bool is_open(int64_t d) const;

  // Returns the number of parts of dimension d.
  int64_t num_shards(int64_t d) const;
  // Returns whether every device holds the whole array.
  bool is_fully_replicated() const;
  // Returns the shape of one shard in storage. Extents are rounded up, so that all devices hold
  // equal buffers; uneven shards are padded.
  Shape shard_shape(const Shape& global) const;
  // Returns which part of each of `rank` dimensions the device at `position` in the mesh holds.
  Dims shard_coordinates(int64_t position, int64_t rank) const;
  // Returns what each device holds, without padding, in the order of mesh().device_ids().
  std::vector<DeviceIndex> devices_indices_map(const Shape& global) const;

  // Returns whether both put the same parts of every array of rank `rank` on the same devices. The
  // names of the axes do not matter.
  bool is_equivalent_to(const NamedSharding& other, int64_t rank) const;
  // Returns whether the meshes are equal and, for arrays of every rank, the distribution and the
  // freedom of propagation are the same: P("x") == P("x", None), and axes of size 1 do not count.
  friend bool operator==(const NamedSharding& a, const NamedSharding& b);
  size_t hash() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// Prints `NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', 'y'))`.
std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding);
inline size_t hash_value(const NamedSharding& sharding) { return sharding.hash(); }

// Returns the number of parts into which `axis` (a whole one or a part) divides a dimension.
int64_t axis_ref_size(const Mesh& mesh, const AxisRef& axis);

// Throws a UserError that names `op` if the spec has more entries than an array of `shape` has
// dimensions.
void check_rank(std::string_view op, const NamedSharding& sharding, const Shape& shape);
// Throws a UserError that names `op`, the dimension and the axes if a dimension of `shape` is not a
// multiple of its number of shards.
void check_divisible(std::string_view op, const NamedSharding& sharding, const Shape& shape);

}  // namespace tessera
