// ArrayLayout: what a sharding means for the memory of one array. Which parts exist, how large they
// are in storage, and which of them each device holds.
//
// A part that several devices hold is one instance. Instance numbers are the row-major number of
// the shard's coordinates: f32[4, 8] on a mesh (x: 2, y: 4) as P("y", "x") has shards (4, 2), eight
// instances of shape (1, 4), and the device at (x, y) holds instance y * 2 + x; as P("x") it has
// two instances of (2, 8), each held by four devices.
//
// In a cluster a process holds the instances of its own devices, one after the other in the order
// of their numbers; the place of one is where it stands among these. An array on a single device
// stands in every process: each has its own.
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
  Shape local;                            // of one instance in storage: ceil division
  Dims shards;                            // the number of parts of each dimension
  int64_t instances = 1;                  // product of shards
  int64_t local_bytes = 0;                // of one instance
  std::vector<int32_t> device_instances;  // by position in the mesh
  // Of a cluster, where not every process holds every instance: which processes hold each,
  // ascending, and the numbers of those that this one holds. Both empty: all are here.
  std::vector<std::vector<int>> holders;
  std::vector<int32_t> held;

  // Whether this process holds all of the array.
  bool is_whole() const { return holders.empty() || held_count() == instances; }
  int64_t held_count() const {
    return holders.empty() ? instances : static_cast<int64_t>(held.size());
  }
  // The number of the instance at a place, and the other way round: -1 where it is elsewhere.
  int64_t number(int64_t index) const {
    return holders.empty() ? index : held[static_cast<size_t>(index)];
  }
  int64_t held_index(int64_t instance) const;

  // The ranges of the global array that instance `i` holds, padding excluded.
  ShardIndex index(int64_t instance) const;
  // Instances one after the other are the global array in row-major order (with padding after its
  // end, if any).
  bool linear() const;
  bool even() const;  // no padding
};

using ArrayLayoutRef = std::shared_ptr<const ArrayLayout>;
// Equal arguments give the same object for as long as somebody holds it. UserError (naming `op`)
// where the sharding has more entries than the array dimensions, or where its mesh has no devices.
ArrayLayoutRef array_layout(DType dtype, const Shape& global, const Sharding& sharding,
                            std::string_view op = "device_put");
// The same parts of the same array on the same devices.
bool same_placement(const ArrayLayout& a, const ArrayLayout& b);

}  // namespace tessera::runtime
