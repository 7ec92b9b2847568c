#include "tessera/fusion/control_steps.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tessera/fusion/collective_steps.h"
#include "tessera/ir/control_flow.h"
#include "tessera/ir/token_type.h"
#include "tessera/ops/core/constant.h"

namespace tessera::fusion {
namespace {

// Returns the axes that the outputs of `f` vary over, given those of its inputs.
std::vector<AxisList> output_axes(const Function& f, const Mesh& mesh,
                                  const std::vector<AxisList>& inputs) {
  const Graph graph = build_graph(f, mesh, inputs);
  std::vector<AxisList> out;
  for (int v : graph.outputs) out.push_back(graph.values[v].axes);
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

// Finds the fewest axes that carries vary over, which it stores in `inputs`, and returns those of
// the outputs.
std::vector<AxisList> settle_carries(const GraphControl& control, const Function& body,
                                     const Mesh& mesh, std::vector<AxisList>& inputs) {
  const size_t consts = control.num_consts, carries = control.num_carry;
  std::vector<AxisList> outputs;
  for (bool grown = true; grown;) {
    grown = false;
    outputs = output_axes(body, mesh, inputs);
    for (size_t c = 0; c < carries; ++c) {
      AxisList& carry = inputs[consts + c];
      const AxisList wider = axes_union(carry, outputs[c]);
      grown = grown || wider != carry;
      carry = wider;
    }
  }
  std::copy_n(inputs.begin() + consts, carries, outputs.begin());
  return outputs;
}

// Carries that every trip returns unchanged become constants, and their results other names of the
// operands.
ControlLowering lower_loop(const Op& op, const ControlFlow& flow, const Mesh& mesh,
                           const std::vector<AxisList>& operands) {
  Function body = flow.body();
  ControlLowering out;
  std::vector<size_t> carried;
  out.operands = range(0, flow.num_consts);
  for (size_t c = 0; c < flow.num_carry; ++c) {
    const size_t k = flow.num_consts + c;
    const bool invariant = body.outputs[c] == body.inputs[k];
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
  out.operands.insert(out.operands.end(), carried.begin(), carried.end());
  const std::vector<size_t> fixed = out.operands;
  for (size_t k = fixed.size(); k < operands.size(); ++k) out.operands.push_back(k);
  for (size_t r = flow.num_carry; r < op.results.size(); ++r) out.results.push_back(r);

  body.inputs = chosen(body.inputs, out.operands);
  body.outputs = chosen(body.outputs, out.results);
  std::vector<AxisList> inputs = chosen(operands, out.operands);
  out.result_axes = settle_carries(*control, body, mesh, inputs);
  control->regions.push_back({std::move(body), inputs, out.result_axes});
  if (flow.has_condition()) {
    Function condition = *flow.regions[0];
    condition.inputs = chosen(condition.inputs, fixed);
    inputs.resize(fixed.size());
    const std::vector<AxisList> decision = output_axes(condition, mesh, inputs);
    expect_same_everywhere(op, "a condition", mesh, decision[0]);
    control->regions.push_back({std::move(condition), std::move(inputs), decision});
  }
  out.control = std::move(control);
  return out;
}

// Returns the function with an array without elements as an additional result.
Function with_token(Function f) {
  const Type token = ir::token_type();
  f.outputs.push_back(f.add_op(constant_op, ConstantParams{Literal(bool_, Shape{}), token.shape},
                               {}, std::span(&token, 1))[0]);
  return f;
}

ControlLowering lower_branch(const Op& op, const ControlFlow& flow, const Mesh& mesh,
                             const std::vector<AxisList>& operands) {
  expect_same_everywhere(op, "an index", mesh, operands[0]);
  const std::vector<AxisList> inputs(operands.begin() + 1, operands.end());
  ControlLowering out;
  out.control = std::make_shared<GraphControl>();
  out.control->loop = false;
  out.result_axes.resize(op.results.size());
  out.token = op.results.empty();
  for (const FunctionRef& region : flow.regions) {
    out.control->regions.push_back(
        {.function = out.token ? with_token(*region) : *region, .inputs = inputs});
    const std::vector<AxisList> axes = output_axes(*region, mesh, inputs);
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

ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes) {
  const ControlFlow flow = control_flow_of(op);
  return flow.is_loop() ? lower_loop(op, flow, mesh, operand_axes)
                        : lower_branch(op, flow, mesh, operand_axes);
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
                  .in = part(in, consts, carries),
                  .out = part(out, 0, carries),
                  .consts = part(in, 0, consts),
                  .xs = part(in, consts + carries, in.size() - consts - carries),
                  .ys = part(out, carries, out.size() - carries)};
}

}  // namespace tessera::fusion
