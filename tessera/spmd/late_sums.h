// Moves sums over devices to where they are smaller. If the result of an all_reduce only passes
// through linear ops to a sum over some of its dimensions, the all_reduce follows that sum.
//
//   %s = all_reduce(%x) : [8, 128, 128]        %t = multiply(%x, %y)
//   %t = multiply(%s, %y)                ->    %u = reduce_sum(%t) : [8]
//   %u = reduce_sum(%t) : [8]                  %v = all_reduce(%u)
//
// %y must be the same on the devices that are summed over. Example: for squared norms of gradients
// by sharded weights, one number for each example is sent instead of its terms.
#pragma once

#include <optional>
#include <span>

#include "tessera/base/namespaces.h"
#include "tessera/ir/function.h"
#include "tessera/ir/scalar_op.h"

namespace tessera::spmd {

// Returns the partitioned function with sums moved in it and in its regions.
Function late_sums(const Function& function);

// Returns the scalar operation of an op that is a single one of its operands, in their order;
// nullopt for other ops.
std::optional<ScalarOp> single_operation(const Op& op, const Function& f);

// Returns whether the op is linear in its operand `v`, with coefficients that are the same on all
// devices along `axes`, so that a sum over the axes may be taken before or after it. `producers`
// are those of f.
bool is_linear_in(const Op& op, ValueId v, const AxisNames& axes, const Function& f,
                  std::span<const int> producers);

}  // namespace tessera::spmd
