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

// The all_reduce that makes output `r` of a region and serves nothing else.
const Op* ending(const Function& region, size_t r) {
  const ValueId v = region.outputs[r];
  const int at = region.producers()[v];
  if (at < 0 || !is_all_reduce(region.ops[at]) || !region.users()[v].empty()) return nullptr;
  if (std::count(region.outputs.begin(), region.outputs.end(), v) != 1) return nullptr;
  return &region.ops[at];
}

// What all regions end output `r` with: the first region's.
std::optional<Op> common_ending(const ControlFlow& flow, size_t r) {
  std::optional<Op> out;
  for (const FunctionRef& region : flow.regions) {
    const Op* op = ending(*region, r);
    if (!op || (out && !(op->def == out->def && op->params == out->params))) return std::nullopt;
    if (!out) out = *op;
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
      for (FunctionRef& region : flow.regions) {
        Function part = *region;
        part.outputs[r] = ending(part, r)->operands[0];
        region = std::make_shared<const Function>(remove_dead_ops(part));
      }
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
