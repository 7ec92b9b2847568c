#include "tessera/fusion/control_steps.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "tessera/base/contains.h"
#include "tessera/fusion/collective_steps.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/control/host_callback.h"
#include "tessera/ops/core/constant.h"

namespace tessera::fusion {
namespace {

// Returns the region with its graph and the axes that its outputs vary over, given the axes of its
// inputs.
Region region_of(FunctionRef function, const Mesh& mesh, std::vector<AxisList> inputs,
                 SettledCarries& settled) {
  Region out{.function = std::move(function), .inputs = std::move(inputs)};
  out.graph = std::make_shared<Graph>(build_graph(*out.function, mesh, out.inputs, settled));
  for (int v : out.graph->outputs) out.outputs.push_back(out.graph->values[v].axes);
  return out;
}

void expect_same_everywhere(const Op& op, const char* what, const Mesh& mesh,
                            const AxisList& axes) {
  std::vector<std::string> names;
  for (int a : axes)
    if (mesh.axis_sizes()[a] > 1) names.push_back(mesh.axis_names()[a]);
  if (!names.empty())
    sharding_error(op.def->name,
                   "expected {} that is the same on all devices, got one that varies over '{}'; "
                   "combine it first, by psum or pmax{}{}",
                   what, fmt::join(names, "', '"), op.source.empty() ? "" : "; called at ",
                   op.source);
}

// Returns the numbers first, first + 1, ..., `count` of them.
std::vector<size_t> range(size_t first, size_t count) {
  std::vector<size_t> out(count);
  std::iota(out.begin(), out.end(), first);
  return out;
}

template <class T>
std::vector<T> chosen(const std::vector<T>& from, const std::vector<size_t>& which) {
  std::vector<T> out;
  for (size_t k : which) out.push_back(from[k]);
  return out;
}

// Returns the region of a loop's body in which the carries vary over as few axes as possible. Its
// outputs vary over the axes of the loop's results.
Region settled_body(const ControlFlow& loop, const Mesh& mesh, const std::vector<AxisList>& inputs,
                    SettledCarries& settled) {
  std::vector<AxisList> now = inputs;
  settled.widen(loop, now);
  Region out;
  for (bool grown = true; grown;) {
    grown = false;
    out = region_of(loop.regions.back(), mesh, now, settled);
    for (size_t c = 0; c < loop.num_carry; ++c) {
      AxisList& carry = now[loop.num_consts + c];
      const AxisList wider = axes_union(carry, out.outputs[c]);
      grown = grown || wider != carry;
      carry = wider;
    }
  }
  std::copy_n(now.begin() + loop.num_consts, loop.num_carry, out.outputs.begin());
  settled.keep(loop, inputs, std::move(now));
  return out;
}

// Keeps only these inputs of the region, in this order, and only these outputs.
void choose(Region& region, const std::vector<size_t>& inputs, const std::vector<size_t>& outputs) {
  Graph& graph = *region.graph;
  graph.inputs = chosen(graph.inputs, inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    graph.values[graph.inputs[i]].input = static_cast<int>(i);
  const std::vector<int> before = std::exchange(graph.outputs, chosen(graph.outputs, outputs));
  for (int v : before)
    if (graph.values[v].input >= 0) graph.values[v].output = contains(graph.outputs, v);
  region.inputs = chosen(region.inputs, inputs);
  region.outputs = chosen(region.outputs, outputs);
}

// Makes constants of carries that every trip returns unchanged; their results become aliases of the
// operands.
ControlLowering lower_loop(const Op& op, const ControlFlow& flow, const Mesh& mesh,
                           const std::vector<AxisList>& operands, SettledCarries& settled) {
  Region body = settled_body(flow, mesh, operands, settled);
  ControlLowering out;
  std::vector<size_t> carried;
  out.operands = range(0, flow.num_consts);
  for (size_t c = 0; c < flow.num_carry; ++c) {
    const size_t k = flow.num_consts + c;
    const bool invariant = body.graph->outputs[c] == body.graph->inputs[k];
    (invariant ? out.operands : carried).push_back(k);
    if (invariant) {
      out.aliases.emplace_back(c, k);
    } else {
      out.results.push_back(c);
    }
  }
  auto control = std::make_shared<GraphControl>();
  control->trip_count = flow.trip_count.value_or(0);
  control->reverse = flow.reverse;
  control->num_consts = out.operands.size();
  control->num_carry = carried.size();
  // A user's function may expect one call after another.
  control->independent = carried.empty() && !flow.has_condition() && !has_effect(op) &&
                         !holds_within(op, ops::calls_host);
  out.operands.insert(out.operands.end(), carried.begin(), carried.end());
  const std::vector<size_t> fixed = out.operands;
  for (size_t k = fixed.size(); k < operands.size(); ++k) out.operands.push_back(k);
  for (size_t r = flow.num_carry; r < op.results.size(); ++r) out.results.push_back(r);

  if (flow.has_condition()) {
    std::vector<AxisList> inputs = body.inputs;
    inputs.resize(fixed.size());
    Region condition = region_of(flow.regions[0], mesh, std::move(inputs), settled);
    expect_same_everywhere(op, "a condition", mesh, condition.outputs[0]);
    choose(condition, fixed, {0});
    control->regions.push_back(std::move(condition));
  }
  choose(body, out.operands, out.results);
  out.result_axes = body.outputs;
  control->regions.insert(control->regions.begin(), std::move(body));
  out.control = std::move(control);
  return out;
}

// Returns the function with an additional result, an array without elements.
Function with_token(Function f) {
  const Type token = ir::token_type();
  f.outputs.push_back(f.add_op(constant_op, ConstantParams{Literal(bool_, Shape{}), token.shape},
                               {}, std::span(&token, 1))[0]);
  return f;
}

ControlLowering lower_branch(const Op& op, const ControlFlow& flow, const Mesh& mesh,
                             const std::vector<AxisList>& operands, SettledCarries& settled) {
  expect_same_everywhere(op, "an index", mesh, operands[0]);
  const std::vector<AxisList> inputs(operands.begin() + 1, operands.end());
  ControlLowering out;
  out.control = std::make_shared<GraphControl>();
  out.control->loop = false;
  out.result_axes.resize(op.results.size());
  out.token = op.results.empty();
  for (const FunctionRef& region : flow.regions) {
    out.control->regions.push_back(
        region_of(out.token ? std::make_shared<const Function>(with_token(*region)) : region, mesh,
                  inputs, settled));
    const std::vector<AxisList>& axes = out.control->regions.back().outputs;
    for (size_t r = 0; r < out.result_axes.size(); ++r)
      out.result_axes[r] = axes_union(std::move(out.result_axes[r]), axes[r]);
  }
  if (out.token) out.result_axes.emplace_back();
  for (Region& region : out.control->regions) region.outputs = out.result_axes;
  out.operands = range(0, operands.size());
  out.results = range(0, op.results.size());
  return out;
}

std::vector<int> part(const std::vector<int>& slots, size_t first, size_t count) {
  return {slots.begin() + first, slots.begin() + first + count};
}

}  // namespace

namespace {
bool within(const std::vector<AxisList>& a, const std::vector<AxisList>& b) {
  for (size_t k = 0; k < a.size(); ++k)
    for (int axis : a[k])
      if (!contains(b[k], axis)) return false;
  return true;
}
}  // namespace

void SettledCarries::widen(const ControlFlow& loop, std::vector<AxisList>& inputs) const {
  const auto found = found_.find(loop.regions.back());
  if (found == found_.end()) return;
  const std::vector<AxisList> before = inputs;
  for (const Found& f : found->second) {
    if (f.num_consts != loop.num_consts || f.num_carry != loop.num_carry ||
        !within(f.inputs, before))
      continue;
    for (size_t k = loop.num_consts; k < loop.num_consts + loop.num_carry; ++k)
      inputs[k] = axes_union(std::move(inputs[k]), f.settled[k]);
  }
}

void SettledCarries::keep(const ControlFlow& loop, std::vector<AxisList> inputs,
                          std::vector<AxisList> settled) {
  found_[loop.regions.back()].push_back(
      {loop.num_consts, loop.num_carry, std::move(inputs), std::move(settled)});
}

ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes, SettledCarries& settled) {
  const ControlFlow flow = control_flow_of(op);
  return flow.is_loop() ? lower_loop(op, flow, mesh, operand_axes, settled)
                        : lower_branch(op, flow, mesh, operand_axes, settled);
}

Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out) {
  if (!control.loop) {
    BranchStep step{.index = in[0], .in = part(in, 1, in.size() - 1), .out = std::move(out)};
    for (const Region& region : control.regions) step.branches.push_back(region.schedule);
    step.expected = control.expected;
    return step;
  }
  const size_t consts = control.num_consts, carries = control.num_carry;
  return LoopStep{.cond = control.regions.size() > 1 ? control.regions[1].schedule : nullptr,
                  .body = control.regions[0].schedule,
                  .trip_count = control.trip_count,
                  .reverse = control.reverse,
                  .independent = control.independent,
                  .in = part(in, consts, carries),
                  .out = part(out, 0, carries),
                  .consts = part(in, 0, consts),
                  .xs = part(in, consts + carries, in.size() - consts - carries),
                  .ys = part(out, carries, out.size() - carries)};
}

}  // namespace tessera::fusion
