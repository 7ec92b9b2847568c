// NamedSharding: how an array lies on a mesh: dimension d is cut along the axes that the spec names
// for it, and copied along all others. IR types and arrays carry one; propagation, partition and
// runtime read it.
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

// [start, stop) of one dimension.
struct IndexRange {
  int64_t start = 0;
  int64_t stop = 0;

  int64_t size() const { return stop - start; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};
// The part of an array on one device, a range a dimension.
using ShardIndex = std::vector<IndexRange>;
struct DeviceIndex {
  int64_t device_id = 0;
  ShardIndex index;

  friend bool operator==(const DeviceIndex&, const DeviceIndex&) = default;
};
// `1:5`.
std::ostream& operator<<(std::ostream& out, const IndexRange& range);

// The i-th of `shards` parts of [0, extent): every part is ceil(extent / shards) long in storage;
// the last ones are shorter, or empty, where that does not divide. 10 over 8: 0:2 2:4 4:6 6:8 8:10
// 10:10 10:10 10:10.
IndexRange shard_range(int64_t extent, int64_t shards, int64_t i);

// Immutable, cheap to copy.
class NamedSharding {
 public:
  // Of nothing on the empty mesh.
  NamedSharding();
  // UserError where the spec names an axis that the mesh does not have, an axis (or overlapping
  // parts of one) twice, or a part that does not divide its axis.
  NamedSharding(Mesh mesh, PartitionSpec spec);

  const Mesh& mesh() const;
  // As given.
  const PartitionSpec& spec() const;
  // The axes of dimension d, major first, none beyond the spec. Parts of one axis that follow each
  // other are joined, and a part that covers its axis is the whole axis: ("x":(1)2, "x":(2)4) of
  // size 8 is "x".
  const std::vector<AxisRef>& dim_axes(int64_t d) const;
  // Whether propagation may shard dimension d further.
  bool is_open(int64_t d) const;

  // Into how many parts dimension d is cut.
  int64_t num_shards(int64_t d) const;
  // Every device holds the whole array.
  bool is_fully_replicated() const;
  // The shape of one shard in storage: ceil division, so that all devices hold equal buffers;
  // uneven ones are padded.
  Shape shard_shape(const Shape& global) const;
  // Which part each of `rank` dimensions the position-th device of the mesh holds.
  Dims shard_coordinates(int64_t position, int64_t rank) const;
  // What each device holds, in the order of mesh().device_ids(); without padding.
  std::vector<DeviceIndex> devices_indices_map(const Shape& global) const;

  // Whether both put the same part of every array of rank `rank` on the same device, whatever the
  // axes are called.
  bool is_equivalent_to(const NamedSharding& other, int64_t rank) const;
  // Equal meshes and, for arrays of every rank, the same placement and the same freedom to
  // propagation: P("x") == P("x", None), and axes of size 1 do not count.
  friend bool operator==(const NamedSharding& a, const NamedSharding& b);
  size_t hash() const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

// `NamedSharding(mesh=Mesh('x': 2, 'y': 4), spec=PartitionSpec('x', 'y'))`
std::ostream& operator<<(std::ostream& out, const NamedSharding& sharding);
inline size_t hash_value(const NamedSharding& sharding) { return sharding.hash(); }

// Into how many parts `axis` (whole or part) cuts a dimension.
int64_t axis_ref_size(const Mesh& mesh, const AxisRef& axis);

// UserError naming `op` where the spec has more entries than an array of `shape` has dimensions.
void check_rank(std::string_view op, const NamedSharding& sharding, const Shape& shape);
// UserError naming `op`, the dimension and the axes where a dimension of `shape` is not a multiple
// of its shards.
void check_divisible(std::string_view op, const NamedSharding& sharding, const Shape& shape);

}  // namespace tessera
