// ControlFlow: a loop or a branch, whatever op it is. Its op says it by the slot OpDef::regions;
// propagation, pruning, partition, fusion, cost and evaluation know nothing else of such ops.
//
//              loop                                             branch
//   operands   constants, carry, scanned                        the index, then what enters
//   regions    [the condition,] the body                        the ways, one of which runs
//   enters     a region: constants, carry; the body also one    every way: all operands but the
//              row (index of the first dimension) of each       index, as constants
//              scanned operand
//   returns    condition: whether a further trip is run;        every way: the results
//              body: the carry, then a row of each stacked
//              result
//   results    the last carry, then the stacked rows            as each way returns them
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "tessera/ir/function.h"

namespace tessera::ir {

struct ControlFlow {
  enum class Kind : uint8_t { kLoop, kBranch };
  Kind kind = Kind::kLoop;
  std::vector<FunctionRef> regions;
  // Of the operands that enter; those that remain are scanned. A branch has constants only.
  size_t num_consts = 0, num_carry = 0;
  // Loops only.
  std::optional<int64_t> trip_count = 1;  // none: the condition decides
  bool reverse = false;                   // rows are taken and stacked from the last to the first
  // Whether an operand that every trip hands on as it came may become a constant.
  bool has_constants = true;

  bool is_loop() const { return kind == Kind::kLoop; }
  bool has_condition() const { return is_loop() && !trip_count; }
  // Whether region `k` decides instead of returning results.
  bool decides(size_t k) const { return has_condition() && k == 0; }
  // A loop's body; the first way of a branch.
  const Function& body() const { return *regions[has_condition() ? 1 : 0]; }
  // The first operand that enters the regions.
  size_t first_entering() const { return is_loop() ? 0 : 1; }
  // Whether operand `k` of those that enter stands for its rows.
  bool is_scanned(size_t k) const { return k >= num_consts + num_carry; }
  // Whether the results from num_carry on are rows put together.
  bool is_stacked(size_t result) const { return is_loop() && result >= num_carry; }
};

// Whether the op is a loop or a branch, and what it is then.
bool is_control_flow(const Op& op);
ControlFlow control_flow_of(const Op& op);
// The params of `op` as this loop or branch of the same kind.
OpParams with_control_flow(const Op& op, const ControlFlow& flow);

// The regions of a loop or a branch; none of other ops.
std::vector<FunctionRef> control_regions(const Op& op);
// The params with these regions in their place.
OpParams with_control_regions(const Op& op, std::vector<FunctionRef> regions);
// The params with every region rewritten; those of other ops as they are.
OpParams map_control_regions(const Op& op, const std::function<Function(const Function&)>& rewrite);

// What the op stands for (a call, a function with a derivative of its own); null for other ops.
FunctionRef callee_of(const Op& op);

// Whether the op is kept though its results are unused: it has an effect (OpDef::effect), or an op in its
// loops and branches, in what it calls or in what devices do by themselves has one.
bool has_effect(const Op& op);

}  // namespace tessera::ir
