#include "tessera/spmd/branch_sums.h"

#include <algorithm>
#include <optional>

#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::spmd {
namespace {

bool is_all_reduce(const Op& op) {
  const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower);
  return lowering && lowering->kind == CollectiveKind::kAllReduce && op.operands.size() == 1;
}

// Returns whether the op only rearranges the elements of its operand.
bool arranges(const Function& f, const Op& op) {
  return std::holds_alternative<IndexMap>(op.def->lower) && op.operands.size() == 1 &&
         f.type(op.operands[0]).elements() == f.type(op.results[0]).elements();
}

// Returns the ops with which output `r` of a region ends, the last one first: ops that rearrange
// elements, then the all_reduce that they rearrange. Nothing else may read their results. The list
// is empty if the output does not end so.
std::vector<int> ending(const Function& region, size_t r) {
  std::vector<int> out;
  ValueId v = region.outputs[r];
  if (std::count(region.outputs.begin(), region.outputs.end(), v) != 1) return {};
  const std::vector<int> producers = region.producers();
  const std::vector<std::vector<int>> users = region.users();
  for (int at = producers[v]; at >= 0; at = producers[v]) {
    const Op& op = region.ops[at];
    if (users[v].size() != (out.empty() ? 0 : 1)) return {};
    if (!out.empty() && std::count(region.outputs.begin(), region.outputs.end(), v)) return {};
    out.push_back(at);
    if (is_all_reduce(op)) return out;
    if (!arranges(region, op)) return {};
    v = op.operands[0];
  }
  return {};
}

// Returns the region without the all_reduce: its operand replaces its result.
Function without(Function region, const std::vector<int>& ending) {
  const ValueId summed = region.ops[ending.back()].operands[0];
  const AxisNames varying = region.type(summed).varying;
  for (size_t i = 0; i + 1 < ending.size(); ++i) {
    Op& op = region.ops[ending[i]];
    region.types[op.results[0]].varying = varying;
    if (i + 2 == ending.size()) op.operands[0] = summed;
  }
  const ValueId was = region.ops[ending.back()].results[0];
  for (ValueId& v : region.outputs)
    if (v == was) v = summed;
  return remove_dead_ops(region);
}

// Returns the all_reduce with which output `r` ends in all regions (that of the first region);
// nullopt if the regions do not end in the same all_reduce.
std::optional<Op> common_ending(const ControlFlow& flow, size_t r) {
  std::optional<Op> out;
  for (const FunctionRef& region : flow.regions) {
    const std::vector<int> last = ending(*region, r);
    if (last.empty()) return std::nullopt;
    const Op& op = region->ops[last.back()];
    if (out && !(op.def == out->def && op.params == out->params)) return std::nullopt;
    if (!out) out = op;
  }
  return out;
}

}  // namespace

Function sums_after_branches(const Function& function) {
  Function out = function;
  out.ops.clear();
  for (const Op& op : function.ops) {
    if (!is_control_flow(op)) {
      out.ops.push_back(op);
      continue;
    }
    Op next = op;
    next.params = map_control_regions(op, sums_after_branches);
    ControlFlow flow = control_flow_of(next);
    std::vector<Op> after;
    for (size_t r = 0; !flow.is_loop() && r < op.results.size(); ++r) {
      std::optional<Op> sum = common_ending(flow, r);
      if (!sum) continue;
      for (FunctionRef& region : flow.regions)
        region = std::make_shared<const Function>(without(*region, ending(*region, r)));
      const Function& first = *flow.regions[0];
      next.results[r] = out.add_value(first.type(first.outputs[r]));
      sum->operands = {next.results[r]};
      sum->results = {op.results[r]};
      after.push_back(std::move(*sum));
    }
    if (!after.empty()) next.params = with_control_flow(next, flow);
    out.ops.push_back(std::move(next));
    out.ops.insert(out.ops.end(), after.begin(), after.end());
  }
  return out;
}

}  // namespace tessera::spmd
