#include "tessera/fusion/rewrites/expected_branches.h"

#include <algorithm>
#include <utility>

#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/core/expect.h"

namespace tessera::fusion {
namespace {

// Smaller results share a conditional.
constexpr int64_t kLargeBytes = 1 << 16;
int64_t bytes_of(const Type& type) { return type.elements() * itemsize(type.dtype); }

// Returns whether the branch's ops may run even if it is not taken: they must end for any operands
// and have no visible effects.
bool may_run_always(const Function& branch) {
  return std::all_of(branch.ops.begin(), branch.ops.end(), [](const Op& op) {
    if (has_effect(op)) return false;
    if (is_control_flow(op) && control_flow_of(op).has_condition()) return false;
    if (const FunctionRef callee = callee_of(op); callee && !may_run_always(*callee)) return false;
    const std::vector<FunctionRef> regions = control_regions(op);
    return std::all_of(regions.begin(), regions.end(),
                       [](const FunctionRef& region) { return may_run_always(*region); });
  });
}

class Opener {
 public:
  explicit Opener(Function& out) : out_(out) {}

  ValueIds append(const Function& f, const ValueIds& values) {
    return append_ops(f, values, [&](const Op& op, ValueIds operands) {
      return append_op(op, f, std::move(operands));
    });
  }

 private:
  ValueIds append_op(const Op& op, const Function& f, ValueIds operands) {
    const std::optional<size_t> expected = expected_branch(f, op);
    if (expected && may_run_always(*control_flow_of(op).regions[*expected]))
      return append_branch(op, *expected, operands, f.types_of(op.results));
    return out_.add_op(*op.def, map_control_regions(op, take_expected_branches),
                       std::move(operands), f.types_of(op.results), op.source);
  }

  // Appends the branch's ops. A large result is corrected as soon as it is computed; the small
  // results are corrected together.
  ValueIds append_branch(const Op& op, size_t expected, const ValueIds& operands,
                         const std::vector<Type>& types) {
    const ControlFlow flow = control_flow_of(op);
    const Function& branch = *flow.regions[expected];
    ValueIds usually(types.size(), -1), out(types.size(), -1);
    std::vector<std::vector<size_t>> groups(1);
    for (size_t r = 0; r < types.size(); ++r) {
      if (bytes_of(types[r]) < kLargeBytes) {
        groups[0].push_back(r);
      } else {
        groups.push_back({r});
      }
    }
    const auto correct_those_there = [&] {
      for (std::vector<size_t>& group : groups) {
        if (group.empty() ||
            std::any_of(group.begin(), group.end(), [&](size_t r) { return usually[r] < 0; }))
          continue;
        append_correction(op, expected, operands, usually, types, std::exchange(group, {}), out);
      }
    };
    const ValueIds values =
        append_ops(branch, ValueIds{operands.begin() + 1, operands.end()},
                   [&](const Op& inside, ValueIds given) {
                     const ValueIds made = append_op(inside, branch, std::move(given));
                     bool gives_result = false;
                     for (size_t r = 0; r < types.size(); ++r) {
                       const auto at = std::find(inside.results.begin(), inside.results.end(),
                                                 branch.outputs[r]);
                       if (at == inside.results.end()) continue;
                       usually[r] = made[static_cast<size_t>(at - inside.results.begin())];
                       gives_result = true;
                     }
                     if (gives_result) correct_those_there();
                     return made;
                   });
    // A result that no op of the branch computes is one of its operands.
    for (size_t r = 0; r < types.size(); ++r)
      if (usually[r] < 0) usually[r] = values[r];
    correct_those_there();
    return out;
  }

  // Appends the conditional that corrects these results. Its expected branch returns the existing
  // values.
  void append_correction(const Op& op, size_t expected, const ValueIds& operands,
                         const ValueIds& usually, const std::vector<Type>& types,
                         const std::vector<size_t>& results, ValueIds& out) {
    ControlFlow flow = control_flow_of(op);
    std::vector<char> used(flow.body().inputs.size(), 0);
    std::vector<std::vector<char>> live(flow.regions.size());
    for (size_t k = 0; k < flow.regions.size(); ++k)
      if (k != expected) live[k] = live_values(*flow.regions[k], results, used);
    ValueIds given{operands[0]};
    for (size_t i = 0; i < used.size(); ++i)
      if (used[i]) given.push_back(operands[i + 1]);
    std::vector<Type> wanted, before;
    for (size_t r : results) {
      wanted.push_back(types[r]);
      before.push_back(out_.types[usually[r]]);
      before.back().sharding = nullptr;
      given.push_back(usually[r]);
    }
    for (size_t k = 0; k < flow.regions.size(); ++k)
      flow.regions[k] =
          std::make_shared<const Function>(part(*flow.regions[k], results, used, live[k], before));
    flow.num_consts = given.size() - 1;
    const ValueIds corrected =
        out_.add_op(*op.def, with_control_flow(op, flow), std::move(given), wanted, op.source);
    for (size_t i = 0; i < results.size(); ++i) out[results[i]] = corrected[i];
  }

  // Returns the values that these outputs of `f` need; marks the inputs among them.
  static std::vector<char> live_values(const Function& f, const std::vector<size_t>& outputs,
                                       std::vector<char>& used) {
    std::vector<char> live(f.types.size(), 0);
    for (size_t r : outputs) live[f.outputs[r]] = 1;
    for (size_t i = f.ops.size(); i-- > 0;) {
      const Op& op = f.ops[i];
      const bool needed = has_effect(op) || std::any_of(op.results.begin(), op.results.end(),
                                                        [&](ValueId v) { return live[v] != 0; });
      if (!needed) continue;
      for (ValueId v : op.results) live[v] = 1;
      for (ValueId v : op.operands) live[v] = 1;
    }
    for (size_t i = 0; i < f.inputs.size(); ++i) used[i] = used[i] || live[f.inputs[i]];
    return live;
  }

  // Returns the part of `f` that computes `outputs`. Its inputs are those that are `used`, then the
  // existing results (`handed`), which it returns if none of its values is live.
  static Function part(const Function& f, const std::vector<size_t>& outputs,
                       const std::vector<char>& used, const std::vector<char>& live,
                       const std::vector<Type>& handed) {
    Function out;
    out.name = f.name;
    std::vector<ValueId> number(f.types.size(), -1);
    for (size_t i = 0; i < used.size(); ++i)
      if (used[i]) number[f.inputs[i]] = out.add_input(f.types[f.inputs[i]]);
    for (const Type& type : handed) {
      const ValueId v = out.add_input(type);
      if (live.empty()) out.outputs.push_back(v);
    }
    if (live.empty()) return out;
    for (const Op& op : f.ops) {
      const auto needed = [&](ValueId v) { return live[v] != 0; };
      if (!has_effect(op) && std::none_of(op.results.begin(), op.results.end(), needed)) continue;
      Op copy = op;
      for (ValueId& v : copy.operands) v = number[v];
      const ValueIds results = out.add_op(std::move(copy), f.types_of(op.results));
      for (size_t r = 0; r < results.size(); ++r) number[op.results[r]] = results[r];
    }
    for (size_t r : outputs) out.outputs.push_back(number[f.outputs[r]]);
    return out;
  }

  Function& out_;
};

bool has_expected_branch(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), [&](const Op& op) {
    if (expected_branch(f, op)) return true;
    const std::vector<FunctionRef> regions = control_regions(op);
    return std::any_of(regions.begin(), regions.end(),
                       [](const FunctionRef& region) { return has_expected_branch(*region); });
  });
}

}  // namespace

Function take_expected_branches(const Function& function) {
  if (!has_expected_branch(function)) return function;
  return remove_dead_ops(rewritten(function, [&](Function& out, const ValueIds& inputs) {
    return Opener(out).append(function, inputs);
  }));
}

}  // namespace tessera::fusion
