// sharding_group: marks its operand as a member of a group of values, to which propagation gives
// one sharding (sharding/sharding_groups.h). It is sdy.sharding_group of programs that are read.
#pragma once

#include <cstdint>

#include "tessera/ir/array.h"
#include "tessera/ir/function.h"

namespace tessera::ops {

// The op's result is its operand, and is often not read: the group is that of the operand.
struct ShardingGroupParams {
  int64_t group = 0;  // the number of the group, sdy's group_id
};
extern const OpDef& sharding_group_op;

// Returns the params of a sharding_group; null for any other op.
const ShardingGroupParams* sharding_group_of(const ir::Op& op);

}  // namespace tessera::ops
