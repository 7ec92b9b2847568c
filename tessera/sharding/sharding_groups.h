// sharding_groups: finds the values that must have the same sharding because the program says that
// they are members of one group (sdy.sharding_group, JAX's shard_alike).
//
// propagate() keeps one state for all members of a group, so every step that shards one of them
// shards all of them.
#pragma once

#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::sharding {

// Values with shardings that the user gave, in the order in which they are pinned.
using Pins = std::vector<std::pair<ValueId, NamedSharding>>;

// Returns, for each value, the value whose state it shares: the first member of its group, or
// itself. A member leaves its group if the user gave it another sharding than an earlier member,
// since the user's shardings stay. Groups with a common member are one group. Throws UserError if
// members differ in shape. Before: regions are opened (open_regions.h).
//
// Example: x, y and z are in one group, x is pinned to P('a') and z to P('b'). Then x and y share a
// state, and z has its own.
ValueIds group_states(const Function& flat, const Pins& pins);

}  // namespace tessera::sharding
