// ArrayLayout: how a sharding stores one array in memory: which parts exist, their shape in
// storage, and which of them each device holds.
//
// A part that several devices hold is one instance. The number of an instance is the row-major
// number of its shard's coordinates. Example: f32[4, 8] on a mesh (x: 2, y: 4) as P("y", "x") has
// shards (4, 2), that is eight instances of shape (1, 4), and the device at (x, y) holds instance y
// * 2 + x. As P("x") it has two instances of shape (2, 8), each held by four devices.
//
// In a cluster, a process holds the instances of its own devices, in the order of their numbers;
// the held index of an instance is its position among these. An array on a single device exists in
// every process separately.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tessera/base/dtype.h"
#include "tessera/base/namespaces.h"
#include "tessera/mesh/sharding.h"

namespace tessera::runtime {

struct ArrayLayout {
  DType dtype;
  Shape global;
  Sharding sharding;
  // The sharding as ir::Type holds it; null on a single device.
  std::shared_ptr<const NamedSharding> named;
  // The shape of one instance in storage: extents are rounded up.
  Shape local;
  Dims shards;                            // the number of parts along each dimension
  int64_t instances = 1;                  // the product of shards
  int64_t local_bytes = 0;                // of one instance
  std::vector<int32_t> device_instances;  // the instance of each device, by position in the mesh
  // In a cluster, if not every process holds every instance: the processes that hold each instance,
  // ascending, and the numbers of the instances that this process holds. If both are empty, this
  // process holds all.
  std::vector<std::vector<int>> holders;
  std::vector<int32_t> held;

  // Returns whether this process holds all of the array.
  bool is_whole() const { return holders.empty() || held_count() == instances; }
  int64_t held_count() const {
    return holders.empty() ? instances : static_cast<int64_t>(held.size());
  }
  // number() returns the number of the instance with a held index. held_index() is the inverse; it
  // returns -1 for an instance that is only in other processes.
  int64_t number(int64_t index) const {
    return holders.empty() ? index : held[static_cast<size_t>(index)];
  }
  int64_t held_index(int64_t instance) const;

  // Returns the ranges of the global array that the instance holds, without padding.
  ShardIndex index(int64_t instance) const;
  // Returns whether the instances in order are the global array in row-major order (followed by
  // padding, if there is any).
  bool linear() const;
  bool even() const;  // whether there is no padding
};

using ArrayLayoutRef = std::shared_ptr<const ArrayLayout>;
// Returns the layout. Calls with equal arguments return the same object while someone holds it.
// Throws a UserError that names `op` if the sharding has more entries than the array has
// dimensions, or if its mesh has no devices.
ArrayLayoutRef array_layout(DType dtype, const Shape& global, const Sharding& sharding,
                            std::string_view op = "device_put");
// Returns whether both layouts have the same parts of the same array on the same devices.
bool same_placement(const ArrayLayout& a, const ArrayLayout& b);

}  // namespace tessera::runtime
