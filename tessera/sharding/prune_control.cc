#include "tessera/sharding/prune_control.h"

#include <algorithm>
#include <map>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"

namespace tessera::sharding {
namespace {

// The remaining op, and the results of the original op that are only aliases of an operand.
struct Pruned {
  Op op;
  std::vector<std::pair<ValueId, ValueId>> aliases;  // (result, operand)
};

std::vector<char> used_inputs(const Function& f) {
  std::vector<char> used(f.types.size(), 0);
  for (const Op& op : f.ops)
    for (ValueId v : op.operands) used[v] = 1;
  for (ValueId v : f.outputs) used[v] = 1;
  std::vector<char> out;
  for (ValueId v : f.inputs) out.push_back(used[v]);
  return out;
}

Function with_inputs(Function f, const std::vector<size_t>& inputs) {
  std::vector<ValueId> kept;
  for (size_t k : inputs) kept.push_back(f.inputs[k]);
  f.inputs = std::move(kept);
  return remove_dead_ops(f);
}

// Regions with only the wanted results, and which of their inputs are read.
struct Regions {
  std::vector<FunctionRef> functions;
  std::vector<char> used;
};

// Prunes a region for the same results only once: each loop around it prunes it again while it
// looks for its carries, so with nested loops the time would double with each level.
class Pruner {
 public:
  // Returns the pruned function. It must exist as long as its regions are used.
  Function pruned(const Function& f);

 private:
  // Returns the region with only these of its outputs, and with all its inputs.
  FunctionRef with_outputs(const Function& region, const std::vector<size_t>& outputs);
  Regions prune_regions(const ControlFlow& flow, const std::vector<size_t>& results);
  Pruned prune(const Op& op, const std::vector<char>& live);

  std::map<std::pair<const Function*, std::vector<size_t>>, FunctionRef> regions_;
};

FunctionRef Pruner::with_outputs(const Function& region, const std::vector<size_t>& outputs) {
  FunctionRef& known = regions_[{&region, outputs}];
  if (known) return known;
  Function out = region;
  out.outputs.clear();
  for (size_t k : outputs) out.outputs.push_back(region.outputs[k]);
  return known = std::make_shared<const Function>(pruned(out));
}

Regions Pruner::prune_regions(const ControlFlow& flow, const std::vector<size_t>& results) {
  Regions out;
  out.used.assign(flow.body().inputs.size(), 0);
  for (size_t k = 0; k < flow.regions.size(); ++k) {
    out.functions.push_back(
        with_outputs(*flow.regions[k], flow.decides(k) ? std::vector<size_t>{0} : results));
    const std::vector<char> used = used_inputs(*out.functions.back());
    for (size_t i = 0; i < used.size(); ++i) out.used[i] = out.used[i] || used[i];
  }
  return out;
}

// A carry is kept if its result is live, or if a trip reads it to compute what is kept. Carries are
// added until nothing changes.
Pruned Pruner::prune(const Op& op, const std::vector<char>& live) {
  ControlFlow flow = control_flow_of(op);
  const size_t consts = flow.num_consts, carries = flow.num_carry;
  Pruned out{.op = {.def = op.def, .source = op.source, .reason = op.reason}};
  std::vector<char> invariant(carries, 0), kept(carries, 0);
  for (size_t c = 0; c < carries; ++c) {
    invariant[c] = flow.has_constants && flow.body().outputs[c] == flow.body().inputs[consts + c];
    if (invariant[c] && live[c]) out.aliases.emplace_back(op.results[c], op.operands[consts + c]);
    kept[c] = !invariant[c] && live[c];
  }
  Regions regions;
  std::vector<size_t> results;
  for (bool grown = true; grown;) {
    results.clear();
    for (size_t r = 0; r < live.size(); ++r)
      if (r < carries ? kept[r] : live[r]) results.push_back(r);
    regions = prune_regions(flow, results);
    grown = false;
    for (size_t c = 0; c < carries; ++c)
      if (regions.used[consts + c] && !invariant[c] && !kept[c]) kept[c] = 1, grown = true;
  }
  std::vector<size_t> entering;
  for (size_t k = 0; k < consts; ++k)
    if (regions.used[k]) entering.push_back(k);
  for (size_t c = 0; c < carries; ++c)
    if (invariant[c] && regions.used[consts + c]) entering.push_back(consts + c);
  flow.num_consts = entering.size();
  for (size_t c = 0; c < carries; ++c)
    if (kept[c]) entering.push_back(consts + c);
  flow.num_carry = entering.size() - flow.num_consts;
  for (size_t k = consts + carries; k < regions.used.size(); ++k)
    if (regions.used[k]) entering.push_back(k);
  for (size_t k = 0; k < flow.regions.size(); ++k) {
    std::vector<size_t> inputs = entering;
    if (flow.decides(k)) inputs.resize(flow.num_consts + flow.num_carry);
    flow.regions[k] = std::make_shared<const Function>(with_inputs(*regions.functions[k], inputs));
  }
  out.op.params = with_control_flow(op, flow);
  for (size_t k = 0; k < flow.first_entering(); ++k) out.op.operands.push_back(op.operands[k]);
  for (size_t k : entering) out.op.operands.push_back(op.operands[flow.first_entering() + k]);
  for (size_t r : results) out.op.results.push_back(op.results[r]);
  return out;
}

Function Pruner::pruned(const Function& f) {
  if (std::none_of(f.ops.begin(), f.ops.end(), is_control_flow)) return remove_dead_ops(f);
  std::vector<char> live(f.types.size(), 0);
  for (ValueId v : f.outputs) live[v] = 1;
  std::vector<Pruned> kept;  // from the last to the first
  for (size_t i = f.ops.size(); i-- > 0;) {
    const Op& op = f.ops[i];
    std::vector<char> wanted;
    for (ValueId v : op.results) wanted.push_back(live[v]);
    const bool effect = has_effect(op);
    if (!effect && !contains(wanted, 1)) continue;
    if (effect) std::fill(wanted.begin(), wanted.end(), 1);
    Pruned& pruned = kept.emplace_back(is_control_flow(op) ? prune(op, wanted) : Pruned{.op = op});
    if (pruned.op.results.empty() && !effect) pruned.op.operands.clear();
    for (const auto& [result, operand] : pruned.aliases) live[operand] = 1;
    for (ValueId v : pruned.op.operands) live[v] = 1;
  }
  Function out;
  out.name = f.name;
  std::vector<ValueId> number(f.types.size(), -1);
  for (ValueId v : f.inputs) number[v] = out.add_input(f.types[v]);
  for (size_t i = kept.size(); i-- > 0;) {
    auto& [op, aliases] = kept[i];
    for (const auto& [result, operand] : aliases) number[result] = number[operand];
    if (op.results.empty() && !has_effect(op)) continue;
    for (ValueId& v : op.operands) v = number[v];
    for (ValueId& v : op.results) v = number[v] = out.add_value(f.types[v]);
    out.ops.push_back(std::move(op));
  }
  for (ValueId v : f.outputs) out.outputs.push_back(number[v]);
  return out;
}

}  // namespace

Function prune_control(const Function& f) { return Pruner().pruned(f); }

}  // namespace tessera::sharding
