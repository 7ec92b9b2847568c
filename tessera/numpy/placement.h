// The placement of arrays: moving them between devices and shardings, making them shard by shard,
// showing their shards.
#pragma once

#include <functional>
#include <optional>
#include <type_traits>
#include <vector>

#include "tessera/base/tree.h"
#include "tessera/ir/array.h"
#include "tessera/mesh/visualize.h"
#include "tessera/runtime/shard.h"

namespace tessera {

// Returns x with this placement, moved by the cheapest path; x itself if it is placed so already.
// Inside of a trace it is with_sharding_constraint. Throws UserError if the spec has more entries
// than x has dimensions.
Array device_put(const Array& x, const Sharding& sharding);
Array device_put(const Array& x, const Device& device);
inline Array device_put(const Array& x, const NamedSharding& sharding) {
  return device_put(x, Sharding(sharding));
}
inline Array device_put(const Array& x, const SingleDeviceSharding& sharding) {
  return device_put(x, Sharding(sharding));
}
// Does the same to every leaf of a tree. `placement` is any of the above.
template <class T, class Placement>
requires(!std::convertible_to<const T&, Array>) T
    device_put(const T& tree, const Placement& placement) {
  return tree::map([&](const Array& leaf) { return device_put(leaf, placement); }, tree);
}

// Returns x, which from here on has this sharding: propagation may choose another only for
// UNCONSTRAINED dimensions. Outside of a trace it is device_put.
Array with_sharding_constraint(const Array& x, const NamedSharding& sharding);
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    with_sharding_constraint(const T& tree, const NamedSharding& sharding) {
  return tree::map([&](const Array& leaf) { return with_sharding_constraint(leaf, sharding); },
                   tree);
}

// Returns the shards of x in this process, in the order of the mesh. Throws UserError for a traced
// array.
std::vector<Shard> addressable_shards(const Array& x);
inline bool is_fully_replicated(const Array& x) { return x.sharding().is_fully_replicated(); }
// Returns whether all devices of x belong to this process. Then the array is this process's own,
// and other processes have theirs. An array on one device always is. Throws UserError for a traced
// array.
bool is_fully_addressable(const Array& x);

// Returns an array of `shape` whose shards are data(index), called for each distinct shard that
// this process holds. Throws UserError if it returns another shape or dtype.
Array make_array_from_callback(const Shape& shape, const Sharding& sharding, DType dtype,
                               const std::function<Literal(const ShardIndex&)>& data);

// Returns an array over several processes, each of which passes its part: its rows of a batch, for
// example. A dimension of `local_data` has either all of `global_shape`, or the shards that devices
// of this process hold, one after the other. Without a global shape, each dimension is as long as
// the different parts of all processes together; processes that hold the same parts must pass the
// same data. For example, with two processes of four devices each and a mesh (x: 8), local f32[12,
// 3] as P("x") is part of f32[24, 3], as P() all of f32[12, 3].
// Throws UserError kShape if the data has neither length. Throws kSharding if the processes' parts
// of a dimension overlap without being equal, so that a global shape is needed, and for a sharding
// without devices of this process.
Array make_array_from_process_local_data(const Sharding& sharding, const Array& local_data,
                                         const std::optional<Shape>& global_shape = std::nullopt);
// Does the same to every leaf of a tree.
template <class T, class Placement>
requires(!std::convertible_to<const T&, Array>) T
    make_array_from_process_local_data(const Placement& sharding, const T& local_data) {
  return tree::map(
      [&](const Array& leaf) {
        return make_array_from_process_local_data(Sharding(sharding), leaf);
      },
      local_data);
}
// Returns the rows, of `rows` on all devices, that this process holds: it reads these of a global
// batch and passes them to make_array_from_process_local_data. The ranges ascend and are as long as
// possible. There are none if no device of this process is in the mesh.
std::vector<IndexRange> process_local_rows(const Sharding& sharding, int64_t rows);

// Prints the devices that hold each shard.
void visualize_array_sharding(const Array& x, const VisualizeOptions& options = {});

}  // namespace tessera
