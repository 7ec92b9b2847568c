#include "tessera/fusion/control.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "tessera/fusion/simplify.h"
#include "tessera/ops/control_flow.h"
#include "tessera/sharding/prune_control.h"

namespace tessera::fusion {
namespace {

// `axes`, then those of `more` that it lacks.
AxisList with(AxisList axes, const AxisList& more) {
  for (int a : more)
    if (std::find(axes.begin(), axes.end(), a) == axes.end()) axes.push_back(a);
  return axes;
}

Function simple(const FunctionRef& f) { return simplify(prune_control(*f)); }

// What the outputs of `f` vary over where its inputs do so.
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

// Numbers first, first + 1, ..., count of them.
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

// The body's inputs are consts, carry, scanned; its outputs carry, stacked.
ControlLowering lower_loop(GraphControl control, const Mesh& mesh, std::vector<AxisList> inputs) {
  const auto consts = static_cast<size_t>(control.num_consts),
             carries = static_cast<size_t>(control.num_carry);
  Region& body = control.regions[0];
  ControlLowering out;
  for (bool grown = true; grown;) {
    grown = false;
    out.result_axes = output_axes(body.function, mesh, inputs);
    for (size_t c = 0; c < carries; ++c) {
      AxisList& carry = inputs[consts + c];
      const AxisList wider = with(carry, out.result_axes[c]);
      grown = grown || wider != carry;
      carry = wider;
    }
  }
  for (size_t c = 0; c < carries; ++c) out.result_axes[c] = inputs[consts + c];
  body.inputs = inputs;
  body.outputs = out.result_axes;
  out.control = std::make_shared<GraphControl>(std::move(control));
  return out;
}

ControlLowering lower_scan(const Op& op, const Mesh& mesh, const std::vector<AxisList>& operands) {
  const auto& p = op.params.as<ScanParams>();
  GraphControl control;
  control.trip_count = p.length;
  control.num_consts = p.num_consts;
  control.num_carry = p.num_carry;
  control.reverse = p.reverse;
  control.regions.push_back({.function = simple(p.body)});
  ControlLowering out = lower_loop(std::move(control), mesh, operands);
  out.operands = range(0, operands.size());
  out.results = range(0, op.results.size());
  return out;
}

ControlLowering lower_while(const Op& op, const Mesh& mesh, const std::vector<AxisList>& operands) {
  const auto& p = op.params.as<WhileParams>();
  Function cond = simple(p.cond), body = simple(p.body);
  std::vector<size_t> consts, carries;
  for (size_t k = 0; k < operands.size(); ++k)
    (body.outputs[k] == body.inputs[k] ? consts : carries).push_back(k);
  std::vector<size_t> order = consts;
  order.insert(order.end(), carries.begin(), carries.end());
  for (Function* f : {&cond, &body}) f->inputs = chosen(f->inputs, order);
  body.outputs = chosen(body.outputs, carries);
  GraphControl control;
  control.num_consts = static_cast<int64_t>(consts.size());
  control.num_carry = static_cast<int64_t>(carries.size());
  control.regions.push_back({.function = std::move(body)});
  ControlLowering out = lower_loop(std::move(control), mesh, chosen(operands, order));
  Region decision{.function = std::move(cond), .inputs = out.control->regions[0].inputs};
  decision.outputs = output_axes(decision.function, mesh, decision.inputs);
  expect_same_everywhere(op, "a condition", mesh, decision.outputs[0]);
  out.control->regions.push_back(std::move(decision));
  out.operands = std::move(order);
  out.results = std::move(carries);
  for (size_t k : consts) out.aliases.emplace_back(k, k);
  return out;
}

ControlLowering lower_case(const Op& op, const Mesh& mesh, const std::vector<AxisList>& operands) {
  const auto& p = op.params.as<CaseParams>();
  expect_same_everywhere(op, "an index", mesh, operands[0]);
  const std::vector<AxisList> inputs(operands.begin() + 1, operands.end());
  ControlLowering out;
  out.control = std::make_shared<GraphControl>();
  out.control->loop = false;
  out.result_axes.resize(op.results.size());
  for (const FunctionRef& branch : p.branches) {
    Region& region =
        out.control->regions.emplace_back(Region{.function = simple(branch), .inputs = inputs});
    const std::vector<AxisList> axes = output_axes(region.function, mesh, inputs);
    for (size_t r = 0; r < axes.size(); ++r)
      out.result_axes[r] = with(std::move(out.result_axes[r]), axes[r]);
  }
  for (Region& region : out.control->regions) region.outputs = out.result_axes;
  out.operands = range(0, operands.size());
  out.results = range(0, op.results.size());
  return out;
}

std::vector<int> part(const std::vector<int>& slots, size_t first, size_t count) {
  return {slots.begin() + static_cast<ptrdiff_t>(first),
          slots.begin() + static_cast<ptrdiff_t>(first + count)};
}

}  // namespace

ControlLowering lower_control(const Op& op, const Mesh& mesh,
                              const std::vector<AxisList>& operand_axes) {
  if (op.def == &scan_op) return lower_scan(op, mesh, operand_axes);
  if (op.def == &while_op) return lower_while(op, mesh, operand_axes);
  return lower_case(op, mesh, operand_axes);
}

Step control_step(const GraphControl& control, std::vector<int> in, std::vector<int> out) {
  if (!control.loop) {
    BranchStep step{.index = in[0], .in = part(in, 1, in.size() - 1), .out = std::move(out)};
    for (const Region& region : control.regions) step.branches.push_back(region.schedule);
    return step;
  }
  const auto consts = static_cast<size_t>(control.num_consts),
             carries = static_cast<size_t>(control.num_carry);
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
