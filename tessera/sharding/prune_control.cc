#include "tessera/sharding/prune_control.h"

#include <algorithm>

#include "tessera/ops/control_flow.h"

namespace tessera {
namespace {

// What is left of an op: which of its operands and results, and results that are only another name
// of an operand.
struct Pruned {
  OpParams params;
  std::vector<size_t> operands, results;
  std::vector<std::pair<size_t, size_t>> aliases;  // (result, operand)
};

// `f` with only these of its outputs, pruned; its inputs are all there.
Function with_outputs(const Function& f, const std::vector<size_t>& outputs) {
  Function out = f;
  out.outputs.clear();
  for (size_t k : outputs) out.outputs.push_back(f.outputs[k]);
  return prune_control(out);
}

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

FunctionRef share(Function f) { return std::make_shared<const Function>(std::move(f)); }

Pruned prune_scan(const Op& op, const std::vector<char>& live) {
  const auto& p = op.params.as<ScanParams>();
  const auto consts = static_cast<size_t>(p.num_consts), carries = static_cast<size_t>(p.num_carry);
  const size_t outputs = p.body->outputs.size(), inputs = p.body->inputs.size();
  Pruned out;
  std::vector<char> invariant(carries, 0), kept(carries, 0);
  for (size_t c = 0; c < carries; ++c) {
    invariant[c] = p.body->outputs[c] == p.body->inputs[consts + c];
    if (invariant[c] && live[c]) out.aliases.emplace_back(c, consts + c);
    kept[c] = !invariant[c] && live[c];
  }
  Function body;
  std::vector<char> used;
  while (true) {
    out.results.clear();
    for (size_t r = 0; r < outputs; ++r)
      if (r < carries ? kept[r] : live[r]) out.results.push_back(r);
    body = with_outputs(*p.body, out.results);
    used = used_inputs(body);
    bool grown = false;
    for (size_t c = 0; c < carries; ++c)
      if (used[consts + c] && !invariant[c] && !kept[c]) kept[c] = 1, grown = true;
    if (!grown) break;
  }
  ScanParams params = p;
  for (size_t k = 0; k < consts; ++k)
    if (used[k]) out.operands.push_back(k);
  for (size_t c = 0; c < carries; ++c)
    if (invariant[c] && used[consts + c]) out.operands.push_back(consts + c);
  params.num_consts = static_cast<int64_t>(out.operands.size());
  for (size_t c = 0; c < carries; ++c)
    if (kept[c]) out.operands.push_back(consts + c);
  params.num_carry = static_cast<int64_t>(out.operands.size()) - params.num_consts;
  for (size_t k = consts + carries; k < inputs; ++k)
    if (used[k]) out.operands.push_back(k);
  params.body = share(with_inputs(std::move(body), out.operands));
  out.params = params;
  return out;
}

Pruned prune_while(const Op& op, const std::vector<char>& live) {
  const auto& p = op.params.as<WhileParams>();
  const Function cond = prune_control(*p.cond);
  std::vector<char> kept = used_inputs(cond);
  for (size_t c = 0; c < kept.size(); ++c) kept[c] = kept[c] || live[c];
  Pruned out;
  Function body;
  while (true) {
    out.results.clear();
    for (size_t c = 0; c < kept.size(); ++c)
      if (kept[c]) out.results.push_back(c);
    body = with_outputs(*p.body, out.results);
    const std::vector<char> used = used_inputs(body);
    bool grown = false;
    for (size_t c = 0; c < kept.size(); ++c)
      if (used[c] && !kept[c]) kept[c] = 1, grown = true;
    if (!grown) break;
  }
  out.operands = out.results;
  out.params = WhileParams{share(with_inputs(cond, out.operands)),
                           share(with_inputs(std::move(body), out.operands))};
  return out;
}

Pruned prune_case(const Op& op, const std::vector<char>& live) {
  const auto& p = op.params.as<CaseParams>();
  Pruned out;
  for (size_t r = 0; r < live.size(); ++r)
    if (live[r]) out.results.push_back(r);
  std::vector<Function> branches;
  std::vector<char> used(op.operands.size() - 1, 0);
  for (const FunctionRef& branch : p.branches) {
    branches.push_back(with_outputs(*branch, out.results));
    const std::vector<char> mine = used_inputs(branches.back());
    for (size_t k = 0; k < used.size(); ++k) used[k] = used[k] || mine[k];
  }
  out.operands = {0};
  std::vector<size_t> inputs;
  for (size_t k = 0; k < used.size(); ++k) {
    if (!used[k]) continue;
    inputs.push_back(k);
    out.operands.push_back(k + 1);
  }
  CaseParams params;
  for (Function& branch : branches)
    params.branches.push_back(share(with_inputs(std::move(branch), inputs)));
  out.params = params;
  return out;
}

Pruned prune(const Op& op, const std::vector<char>& live) {
  if (op.def == &while_op) return prune_while(op, live);
  return op.def == &scan_op ? prune_scan(op, live) : prune_case(op, live);
}

}  // namespace

bool has_effect(const Op& op) {
  if (op.def->effect) return true;
  for (const FunctionRef& region : control_regions(op))
    if (std::any_of(region->ops.begin(), region->ops.end(), has_effect)) return true;
  return false;
}

Function prune_control(const Function& f) {
  if (std::none_of(f.ops.begin(), f.ops.end(), is_control_flow)) return remove_dead_ops(f);
  std::vector<char> live(f.types.size(), 0);
  for (ValueId v : f.outputs) live[v] = 1;
  std::vector<Op> kept;                                           // from the last to the first
  std::vector<std::vector<std::pair<ValueId, ValueId>>> aliases;  // of each, before it
  for (size_t i = f.ops.size(); i-- > 0;) {
    const Op& op = f.ops[i];
    std::vector<char> wanted;
    for (ValueId v : op.results) wanted.push_back(live[v]);
    const bool effect = has_effect(op);
    if (!effect && std::find(wanted.begin(), wanted.end(), 1) == wanted.end()) continue;
    Op copy = op;
    auto& names = aliases.emplace_back();
    if (is_control_flow(op)) {
      if (effect) std::fill(wanted.begin(), wanted.end(), 1);
      Pruned pruned = prune(op, wanted);
      copy.params = std::move(pruned.params);
      copy.operands.clear();
      copy.results.clear();
      for (size_t k : pruned.operands) copy.operands.push_back(op.operands[k]);
      for (size_t r : pruned.results) copy.results.push_back(op.results[r]);
      for (const auto& [r, k] : pruned.aliases) {
        names.emplace_back(op.results[r], op.operands[k]);
        live[op.operands[k]] = 1;
      }
      if (copy.results.empty() && !effect) copy.operands.clear();
    }
    for (ValueId v : copy.operands) live[v] = 1;
    kept.push_back(std::move(copy));
  }
  Function out;
  out.name = f.name;
  std::vector<ValueId> number(f.types.size(), -1);
  for (ValueId v : f.inputs) number[v] = out.add_input(f.types[v]);
  for (size_t i = kept.size(); i-- > 0;) {
    Op& op = kept[i];
    for (const auto& [result, operand] : aliases[i]) number[result] = number[operand];
    if (op.results.empty() && !has_effect(op)) continue;
    for (ValueId& v : op.operands) v = number[v];
    for (ValueId& v : op.results) v = number[v] = out.add_value(f.types[v]);
    out.ops.push_back(std::move(op));
  }
  for (ValueId v : f.outputs) out.outputs.push_back(number[v]);
  return out;
}

}  // namespace tessera
