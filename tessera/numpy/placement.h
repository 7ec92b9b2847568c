// Where arrays lie: moving them between devices and shardings, making them shard by shard, looking
// at them.
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

// x under `sharding`, by the cheapest path; x itself where it lies so already. Inside of a trace:
// the constraint. UserError for a spec longer than x has dimensions.
Array device_put(const Array& x, const Sharding& sharding);
Array device_put(const Array& x, const Device& device);
inline Array device_put(const Array& x, const NamedSharding& sharding) {
  return device_put(x, Sharding(sharding));
}
inline Array device_put(const Array& x, const SingleDeviceSharding& sharding) {
  return device_put(x, Sharding(sharding));
}
// Every leaf of a tree; `placement` is any of the above.
template <class T, class Placement>
requires(!std::convertible_to<const T&, Array>) T
    device_put(const T& tree, const Placement& placement) {
  return tree::map([&](const Array& leaf) { return device_put(leaf, placement); }, tree);
}

// x, laid out as `sharding` says from here on: propagation may not choose otherwise (but in
// UNCONSTRAINED dimensions). Outside of a trace it is device_put.
Array with_sharding_constraint(const Array& x, const NamedSharding& sharding);
template <class T>
requires(!std::convertible_to<const T&, Array>) T
    with_sharding_constraint(const T& tree, const NamedSharding& sharding) {
  return tree::map([&](const Array& leaf) { return with_sharding_constraint(leaf, sharding); },
                   tree);
}

// What each device holds, in the order of the mesh. UserError for a traced array.
std::vector<Shard> addressable_shards(const Array& x);
inline bool is_fully_replicated(const Array& x) { return x.sharding().is_fully_replicated(); }
// Whether all devices of x are of this process: then it is this process' own, and others have
// theirs. An array on one device always is. UserError for a traced array.
bool is_fully_addressable(const Array& x);

// An array of `shape`, each distinct shard of which data(index) makes, of those that this process
// holds. UserError where it returns another shape or dtype.
Array make_array_from_callback(const Shape& shape, const Sharding& sharding, DType dtype,
                               const std::function<Literal(const ShardIndex&)>& data);

// An array over several processes, of which each has a part: its rows of a batch, say. A dimension
// of `local_data` has either all of `global_shape`, or what devices of this process hold of it, one
// shard after the other. Without a global shape each dimension is as long as those of all processes
// that hold different parts of it together; processes that hold the same parts give the same data.
// Two processes of four devices each, mesh (x: 8): local f32[12, 3] as P("x") is part of f32[24,
// 3], as P() all of f32[12, 3]. UserError kShape where the data is of neither length, kSharding
// where the processes' parts of a dimension overlap without being equal, so that its length must be
// given, and for a sharding without devices of this process.
Array make_array_from_process_local_data(const Sharding& sharding, const Array& local_data,
                                         const std::optional<Shape>& global_shape = std::nullopt);
// Every leaf of a tree.
template <class T, class Placement>
requires(!std::convertible_to<const T&, Array>) T
    make_array_from_process_local_data(const Placement& sharding, const T& local_data) {
  return tree::map(
      [&](const Array& leaf) {
        return make_array_from_process_local_data(Sharding(sharding), leaf);
      },
      local_data);
}
// Which rows of `rows` in all devices of this process hold: what it reads of a global batch, and
// gives to make_array_from_process_local_data. Ascending ranges, as long as possible; empty where
// no device of this process is in the mesh.
std::vector<IndexRange> process_local_rows(const Sharding& sharding, int64_t rows);

// Prints which device holds which part.
void visualize_array_sharding(const Array& x, const VisualizeOptions& options = {});

}  // namespace tessera
