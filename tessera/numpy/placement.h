// Where arrays lie: moving them between devices and shardings, making them shard by shard, looking
// at them.
#pragma once

#include <functional>
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

// An array of `shape`, each distinct shard of which data(index) makes. UserError where it returns
// another shape or dtype.
Array make_array_from_callback(const Shape& shape, const Sharding& sharding, DType dtype,
                               const std::function<Literal(const ShardIndex&)>& data);

// Prints which device holds which part.
void visualize_array_sharding(const Array& x, const VisualizeOptions& options = {});

}  // namespace tessera
