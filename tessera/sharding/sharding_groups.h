// sharding_groups: which values propagation must shard alike, because the program says that they
// are members of one group (sdy.sharding_group, JAX's shard_alike).
//
// propagate() keeps one state for all members of a group, so that every step that shards one of
// them shards all.
#pragma once

#include <utility>
#include <vector>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/mesh/named_sharding.h"

namespace tessera::sharding {

// Values whose shardings the user gave, in the order in which they are pinned.
using Pins = std::vector<std::pair<ValueId, NamedSharding>>;

// Returns for each value the one whose state it shares: the first member of its group, or itself. A
// member is left out of its group if the user gave it another sharding than an earlier member, since
// what the user gave stays. Groups with a common member are one. Throws UserError if members differ
// in shape. Before: regions are opened (open_regions.h).
//
// For example: with x, y and z in one group, x pinned to P('a') and z to P('b'), x and y share a
// state, and z has its own.
ValueIds group_states(const Function& flat, const Pins& pins);

}  // namespace tessera::sharding
