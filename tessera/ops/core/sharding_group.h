// sharding_group: says that a value is a member of a group, all of which propagation shards alike
// (sharding/sharding_groups.h). Programs from outside have it (sdy.sharding_group).
#pragma once

#include <cstdint>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// Its result is its operand, and is often not read: what the op says concerns the operand.
struct ShardingGroupParams {
  int64_t group = 0;  // the number of the group
};
extern const OpDef& sharding_group_op;

// Returns the params of a sharding_group; null for any other op.
const ShardingGroupParams* sharding_group_of(const ir::Op& op);

}  // namespace tessera::ops
