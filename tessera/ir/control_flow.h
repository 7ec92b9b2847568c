// ControlFlow: all that propagation, pruning, partition, fusion, cost and evaluation know of a loop
// or a branch. OpDef::regions returns it for the params of an op.
//
//              loop                                             branch
//   operands   constants, carry, scanned                        the index, then what enters
//   regions    [the condition,] the body                        the branches, one of which runs
//   enters     each region: constants, carry; the body also     each branch: all operands except
//              one row (index of the first dimension) of each   the index, as constants
//              scanned operand
//   returns    condition: whether another trip runs;            each branch: the results
//              body: the carry, then a row of each stacked
//              result
//   results    the last carry, then the stacked rows            what the chosen branch returns
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
  // The number of constants and carries among the operands that enter; the rest are scanned. A
  // branch has only constants.
  size_t num_consts = 0, num_carry = 0;
  // Only loops have these.
  std::optional<int64_t> trip_count = 1;  // nullopt if the condition decides
  bool reverse = false;                   // rows are read and stacked from the last to the first
  // Whether operands that every trip returns unchanged may become constants.
  bool has_constants = true;

  bool is_loop() const { return kind == Kind::kLoop; }
  bool has_condition() const { return is_loop() && !trip_count; }
  // Returns whether region `k` is the condition of a loop.
  bool decides(size_t k) const { return has_condition() && k == 0; }
  // Returns the body of a loop, or the first region of a branch.
  const Function& body() const { return *regions[has_condition() ? 1 : 0]; }
  // Returns the index of the first operand that enters the regions.
  size_t first_entering() const { return is_loop() ? 0 : 1; }
  // Returns whether entering operand `k` is scanned, so that each trip gets a row of it.
  bool is_scanned(size_t k) const { return k >= num_consts + num_carry; }
  // Returns whether a result is stacked from rows of all trips.
  bool is_stacked(size_t result) const { return is_loop() && result >= num_carry; }
};

// Returns whether the op is a loop or a branch, which control_flow_of describes.
bool is_control_flow(const Op& op);
ControlFlow control_flow_of(const Op& op);
// Returns the params of `op` that describe this loop or branch, which is of the same kind.
OpParams with_control_flow(const Op& op, const ControlFlow& flow);

// Returns the regions of a loop or a branch; empty for other ops.
std::vector<FunctionRef> control_regions(const Op& op);
// Returns the params of `op` with these regions in place of its own.
OpParams with_control_regions(const Op& op, std::vector<FunctionRef> regions);
// Returns the params with every region rewritten; those of other ops are unchanged.
OpParams map_control_regions(const Op& op, const std::function<Function(const Function&)>& rewrite);

// Returns the function by which the op will be replaced (it is a call, or a function with a custom
// derivative); null for other ops.
FunctionRef callee_of(const Op& op);

// Returns whether the predicate holds for the op, or for an op in its loops and branches, in the
// function it calls or in its manual computation.
bool holds_within(const Op& op, const std::function<bool(const Op&)>& predicate);

// Returns whether the op, or an op within it, has an effect (OpDef::effect), so that it stays even
// if its results are unused.
bool has_effect(const Op& op);

}  // namespace tessera::ir
