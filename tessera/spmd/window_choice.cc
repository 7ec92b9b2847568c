#include "tessera/spmd/window_choice.h"

#include <algorithm>

namespace tessera::spmd {
namespace {

bool shards_windows(const Factors& factors, const FactorAssignment& a) {
  for (size_t id = 0; id < factors.factors.size(); ++id)
    if (!a.axes[id].empty() && (factors.factors[id].kind == FactorKind::kPermutation ||
                                factors.factors[id].kind == FactorKind::kNeedReplication))
      return true;
  return false;
}

// Includes in the op's map the slices and reversals whose results only this op reads. For example,
// roll is a concatenation of two slices, and then moves rows once. Returns whether there were any.
bool look_behind(const LocalValues& all, WindowRequest& request, ValueIds& values) {
  bool found = false;
  for (IndexPiece& piece : request.mapping.pieces) {
    const auto k = static_cast<size_t>(piece.operand);
    while (all.uses[values[k]] == 1 && all.makers[values[k]]) {
      const Op& maker = *all.makers[values[k]];
      const auto* map = std::get_if<IndexMap>(&maker.def->lower);
      if (!map || maker.operands.size() != 1 || maker.results.size() != 1) break;
      const ValueId source = maker.operands[0];
      const std::vector<Type> from = all.f.types_of(maker.operands),
                              to = all.f.types_of(maker.results);
      const IndexMapping inner = map->map(maker.params, from, to);
      if (!compose_windows(inner, piece)) break;
      values[k] = source;
      request.operands[k] = from[0];
      request.operand_dims[k] = all.locals[source].dims;
      found = true;
    }
    // Two pieces of the same array become pieces of one operand.
    const auto first = std::find(values.begin(), values.end(), values[k]) - values.begin();
    if (request.operand_dims[first] == request.operand_dims[k])
      piece.operand = static_cast<int>(first);
  }
  return found;
}

}  // namespace

std::optional<WindowChoice> choose_windows(const LocalValues& values, const Op& op,
                                           const ShardedOp& sharded,
                                           const FactorAssignment& other) {
  const auto* map = std::get_if<IndexMap>(&op.def->lower);
  if (!map || op.results.size() != 1) return std::nullopt;
  const FactorAssignment a = assign_factors(sharded, {.shard_windows = true});
  if (!shards_windows(sharded.factors, a)) return std::nullopt;
  // If the op reads the operands of those slices instead, moving the slices' rows is not needed any
  // more.
  int64_t behind_cost = 0;
  for (ValueId v : op.operands)
    if (values.uses[v] == 1) behind_cost += values.moved[v];

  int64_t least = behind_cost + assignment_cost(sharded, other);
  std::optional<WindowChoice> best;
  auto consider = [&](const WindowRequest& request, const ValueIds& sources, int64_t extra_cost) {
    std::optional<WindowPlan> plan = plan_windows(sharded.mesh, request);
    if (!plan) return;
    FactorAssignment b = a;
    b.results[0] = plan->result_dims;
    b.reduced = plan->reduced;
    const int64_t cost = plan->cost + extra_cost + assignment_cost(sharded, b);
    if (cost > least) return;
    least = cost;
    best = WindowChoice{std::move(*plan), request, sources};
  };
  const std::vector<Type>& operands = sharded.operand_types;
  const std::vector<Type>& results = sharded.result_types;
  const WindowRequest plain{map->map(op.params, operands, results), operands, a.operands,
                            results[0], a.results[0]};
  consider(plain, op.operands, behind_cost);
  WindowRequest summed = plain;
  summed.partial = true;
  consider(summed, op.operands, behind_cost);
  WindowRequest composed = plain;
  ValueIds behind = op.operands;
  if (look_behind(values, composed, behind)) consider(composed, behind, 0);
  return best;
}

}  // namespace tessera::spmd
