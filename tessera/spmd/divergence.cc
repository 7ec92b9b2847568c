#include "tessera/spmd/divergence.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/ir/append_ops.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/op_def.h"
#include "tessera/ops/collectives/collectives.h"
#include "tessera/ops/collectives/collectives_groups.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/compare.h"
#include "tessera/ops/core/constant.h"
#include "tessera/ops/core/convert.h"
#include "tessera/ops/core/elementwise.h"
#include "tessera/ops/core/inspect_sharding.h"
#include "tessera/ops/core/select.h"

namespace tessera::spmd {
namespace {

// Returns whether all devices must execute the function together: it has collectives or effects
// other than host calls that can be disabled.
bool needs_all_devices(const Function& f);

bool needs_all_devices(const Op& op) {
  if (ops::is_guardable(op) || ops::is_about_sharding(op)) return false;
  if (ir::has_effect(op)) return true;
  if (const auto* lowering = std::get_if<CollectiveLowering>(&op.def->lower))
    return lowering->kind != CollectiveKind::kCast && lowering->kind != CollectiveKind::kAxisIndex;
  for (const FunctionRef& region : control_regions(op))
    if (needs_all_devices(*region)) return true;
  return false;
}

bool needs_all_devices(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(),
                     [](const Op& op) { return needs_all_devices(op); });
}

// Returns whether the function itself has host calls, not counting its regions.
bool calls_host(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(), ops::calls_host);
}

// Returns whether the function calls the host for an effect. A loop's condition must not, since a
// device that has ended would call again.
bool has_host_effect(const Function& f) {
  return std::any_of(f.ops.begin(), f.ops.end(),
                     [](const Op& op) { return ops::calls_host(op) && ir::has_effect(op); });
}

// Adds ops to the end of a function. Their types follow from those of their operands.
class Adder {
 public:
  Adder(Function& f, const Op& of) : f_(f), of_(of) {}

  ValueId add(const OpDef& def, OpParams params, ValueIds operands, int32_t reason = 0) {
    return add_all({.def = &def,
                    .params = std::move(params),
                    .operands = std::move(operands),
                    .source = of_.source,
                    .reason = reason})[0];
  }
  // Adds the ops of `f`. If there is a `guard`, its host calls happen only if the guard is true.
  ValueIds inlined(const Function& f, const ValueIds& inputs,
                   std::optional<ValueId> guard = std::nullopt) {
    return ir::append_ops(f, inputs, [&](const Op& op, const ValueIds& operands) {
      Op copy = op;
      copy.operands = operands;
      if (guard && ops::is_guardable(op)) {
        copy = ops::guarded(std::move(copy), *guard);
      } else if (guard && ops::calls_host(op)) {  // a call of a branch inside: both must hold
        copy.operands[0] = add(ops::bitwise_and_op, ir::NoParams{}, {copy.operands[0], *guard});
      }
      return add_all(std::move(copy));
    });
  }
  template <class T>
  ValueId scalar(T value) {
    return add(ops::constant_op, ops::ConstantParams{Literal::scalar(value), {}}, {});
  }

 private:
  ValueIds add_all(Op op) {
    const std::vector<Type> operands = f_.types_of(op.operands);
    op.params = ir::retyped_params(*op.def, operands, op.params);
    const std::vector<Type> types = ir::infer_types(*op.def, operands, op.params);
    return f_.add_op(std::move(op), types);
  }

  Function& f_;
  const Op& of_;
};

// The mesh axes that values vary over, computed from the axes of operands, whatever the types say
// (a program that was read has types of its own). The results of a region for the same inputs are
// computed only once: a loop needs them several times, and so does every loop around it.
class Variance {
 public:
  // Returns the axes of every value of f, given the axes of its inputs.
  std::vector<AxisNames> of(const Function& f, const std::vector<AxisNames>& inputs) {
    std::vector<AxisNames> out(f.types.size());
    for (size_t i = 0; i < f.inputs.size(); ++i) out[f.inputs[i]] = inputs[i];
    for (const Op& op : f.ops) {
      const std::vector<AxisNames> results = of(op, chosen(out, op.operands));
      for (size_t r = 0; r < op.results.size(); ++r) out[op.results[r]] = results[r];
    }
    return out;
  }
  std::vector<AxisNames> outputs(const FunctionRef& f, const std::vector<AxisNames>& inputs) {
    const auto key = std::pair(f, inputs);
    if (const auto it = outputs_.find(key); it != outputs_.end()) return it->second;
    return outputs_[key] = chosen(of(*f, inputs), f->outputs);
  }
  // Returns the axes of the inputs of a loop's regions. Its carries also vary over the axes that
  // trips add.
  std::vector<AxisNames> entering(const ControlFlow& flow, std::vector<AxisNames> operands) {
    if (!flow.is_loop()) return {operands.begin() + 1, operands.end()};
    for (bool grown = true; grown;) {
      grown = false;
      const std::vector<AxisNames> after = outputs(flow.regions.back(), operands);
      AxisNames decides;
      if (flow.has_condition())
        decides = outputs(flow.regions[0], condition_inputs(flow, operands))[0];
      for (size_t c = 0; c < flow.num_carry; ++c) {
        AxisNames& carry = operands[flow.num_consts + c];
        AxisNames wider = ir::axis_union(carry, ir::axis_union(after[c], decides));
        grown = grown || wider != carry;
        carry = std::move(wider);
      }
    }
    return operands;
  }
  static std::vector<AxisNames> condition_inputs(const ControlFlow& flow,
                                                 const std::vector<AxisNames>& entering) {
    return {entering.begin(), entering.begin() + flow.regions[0]->inputs.size()};
  }
  static std::vector<AxisNames> chosen(const std::vector<AxisNames>& all, const auto& which) {
    std::vector<AxisNames> out;
    for (ValueId v : which) out.push_back(all[v]);
    return out;
  }

 private:
  std::vector<AxisNames> of(const Op& op, const std::vector<AxisNames>& operands) {
    AxisNames all;
    for (const AxisNames& one : operands) all = ir::axis_union(all, one);
    if (std::holds_alternative<CollectiveLowering>(op.def->lower)) {
      all = after_collective(ops::collective_info(op), std::move(all));
    } else if (is_control_flow(op)) {
      return of_control(op, control_flow_of(op), operands);
    }
    return std::vector<AxisNames>(op.results.size(), all);
  }

  static AxisNames after_collective(const ops::CollectiveInfo& info, AxisNames operand) {
    AxisNames over(info.axes.begin(), info.axes.end());
    std::sort(over.begin(), over.end());
    switch (info.kind) {
      case CollectiveKind::kAllReduce:
      case CollectiveKind::kAllGather:
      case CollectiveKind::kBroadcast:
        // The results of several groups may differ.
        return info.groups.size() <= 1 ? ir::axis_difference(operand, over)
                                       : ir::axis_union(operand, over);
      case CollectiveKind::kCast:
        return operand;
      default:
        return ir::axis_union(operand, over);
    }
  }

  std::vector<AxisNames> of_control(const Op& op, const ControlFlow& flow,
                                    const std::vector<AxisNames>& operands) {
    const std::vector<AxisNames> inside = entering(flow, operands);
    std::vector<AxisNames> out(op.results.size(), flow.is_loop() ? AxisNames() : operands[0]);
    for (size_t c = 0; flow.is_loop() && c < flow.num_carry; ++c)
      out[c] = inside[flow.num_consts + c];
    for (size_t k = 0; k < flow.regions.size(); ++k) {
      if (flow.decides(k)) continue;
      const std::vector<AxisNames> results = outputs(flow.regions[k], inside);
      for (size_t r = 0; r < out.size(); ++r) out[r] = ir::axis_union(out[r], results[r]);
    }
    return out;
  }

  std::map<std::pair<FunctionRef, std::vector<AxisNames>>, std::vector<AxisNames>> outputs_;
};

class Converger {
 public:
  Converger(const Mesh& mesh, std::vector<Reason>& reasons) : mesh_(mesh), reasons_(reasons) {}

  Function run(const Function& function, const std::vector<AxisNames>& inputs) {
    if (std::none_of(function.ops.begin(), function.ops.end(), is_control_flow)) return function;
    const std::vector<AxisNames> varying = variance_.of(function, inputs);
    Function out = function;
    out.ops.clear();
    std::map<ValueId, ValueId> renamed;
    const auto rename = [&](ValueId& v) {
      if (const auto it = renamed.find(v); it != renamed.end()) v = it->second;
    };
    for (const Op& old : function.ops) {
      Op op = old;
      for (ValueId& v : op.operands) rename(v);
      if (is_control_flow(op)) {
        ControlFlow flow = control_flow_of(op);
        // The regions are checked as they were: all devices execute what is added to them.
        const bool may_diverge =
            std::none_of(flow.regions.begin(), flow.regions.end(),
                         [&](const FunctionRef& region) { return needs_all_devices(*region); }) &&
            !(flow.has_condition() && has_host_effect(*flow.regions[0]));
        const std::vector<AxisNames> inside =
            variance_.entering(flow, Variance::chosen(varying, old.operands));
        for (size_t k = 0; k < flow.regions.size(); ++k)
          flow.regions[k] = std::make_shared<const Function>(
              run(*flow.regions[k],
                  flow.decides(k) ? Variance::condition_inputs(flow, inside) : inside));
        op.params = with_control_flow(op, flow);
        if (flow.has_condition() && may_diverge) {
          converge_loop(out, op, flow, inside);
        } else if (!flow.is_loop() && !varying[old.operands[0]].empty() && may_diverge) {
          const ValueIds results = chosen(out, op, flow);
          for (size_t r = 0; r < results.size(); ++r) renamed[op.results[r]] = results[r];
          continue;
        }
      }
      out.ops.push_back(std::move(op));
    }
    for (ValueId& v : out.outputs) rename(v);
    return out;
  }

 private:
  void converge_loop(Function& f, Op& op, ControlFlow flow, const std::vector<AxisNames>& inside) {
    const Function& condition = *flow.regions[0];
    const Function& body = flow.body();
    const AxisNames decides =
        variance_.outputs(flow.regions[0], Variance::condition_inputs(flow, inside))[0];
    AxisNames axes;
    for (const std::string& axis : mesh_.axis_names())
      if (contains(decides, axis)) axes.push_back(axis);
    if (axes.empty()) return;

    Function any = condition;
    reasons_.push_back({std::string(op.def->name), op.source,
                        fmt::format("the condition varies over '{}': the loop runs until it has "
                                    "ended on every device",
                                    fmt::join(axes, "', '"))});
    // The decision varies, even if its type was read without that.
    ValueId decision = condition.outputs[0];
    any.types[decision].varying = decides;
    any.outputs[0] = Adder(any, op).add(
        ops::all_reduce_op,
        ops::AllReduceParams{.mesh = mesh_, .axes = axes, .kind = ReduceKind::kOr}, {decision},
        static_cast<int32_t>(reasons_.size()));

    // Host calls of the body happen only if the loop goes on, which must be known before them.
    const bool calls = calls_host(body);
    Function kept;
    if (calls) {
      for (ValueId v : body.inputs) kept.add_input(body.type(v));
    } else {
      kept = body;
    }
    Adder adder(kept, op);
    const ValueIds entering(kept.inputs.begin(), kept.inputs.end());
    const ValueId goes_on = adder.inlined(condition, entering)[0];
    if (calls) {
      const ValueIds results = adder.inlined(body, entering, goes_on);
      kept.outputs.assign(results.begin(), results.end());
    }
    for (size_t c = 0; c < flow.num_carry; ++c) {
      const ValueId before = entering[flow.num_consts + c], after = kept.outputs[c];
      if (before != after)
        kept.outputs[c] = adder.add(ops::select_op, ir::NoParams{}, {goes_on, after, before});
    }
    flow.regions = {std::make_shared<const Function>(std::move(any)),
                    std::make_shared<const Function>(std::move(kept))};
    op.params = with_control_flow(op, flow);
    for (size_t r = 0; r < op.results.size(); ++r)
      f.types[op.results[r]].varying = ir::axis_union(f.type(op.results[r]).varying, decides);
  }

  // Returns the results that each device selects among those of the branches. An index out of range
  // selects the last branch.
  static ValueIds chosen(Function& f, const Op& op, const ControlFlow& flow) {
    Adder adder(f, op);
    ValueId index = op.operands[0];
    if (f.type(index).dtype == bool_)
      index = adder.add(ops::convert_op, ops::ConvertParams{int32}, {index});
    const ValueIds entering(op.operands.begin() + 1, op.operands.end());
    const auto others = static_cast<uint32_t>(flow.regions.size() - 1);
    std::optional<ValueId> last;  // compared without sign, since a negative index is then large
    if (calls_host(*flow.regions.back()))
      last = adder.add(
          ops::compare_op,
          ops::CompareParams{.direction = Comparison::kGe, .type = CompareType::kUnsigned},
          {adder.add(ops::convert_op, ops::ConvertParams{uint32}, {index}), adder.scalar(others)});
    ValueIds out = adder.inlined(*flow.regions.back(), entering, last);
    for (size_t branch = flow.regions.size() - 1; branch-- > 0;) {
      const ValueId here =
          adder.add(ops::compare_op,
                    ops::CompareParams{.direction = Comparison::kEq, .type = CompareType::kSigned},
                    {index, adder.scalar(static_cast<int32_t>(branch))});
      const ValueIds results = adder.inlined(*flow.regions[branch], entering, here);
      for (size_t r = 0; r < out.size(); ++r)
        if (results[r] != out[r])
          out[r] = adder.add(ops::select_op, ir::NoParams{}, {here, results[r], out[r]});
    }
    return out;
  }

  const Mesh& mesh_;
  std::vector<Reason>& reasons_;
  Variance variance_;
};

}  // namespace

Function without_divergence(const Function& function, const Mesh& mesh,
                            std::vector<Reason>& reasons) {
  std::vector<AxisNames> inputs;
  for (ValueId v : function.inputs) inputs.push_back(function.type(v).varying);
  return Converger(mesh, reasons).run(function, inputs);
}

}  // namespace tessera::spmd
