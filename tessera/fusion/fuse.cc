#include "tessera/fusion/fuse.h"

#include <algorithm>

#include "tessera/fusion/collective_steps.h"
#include "tessera/fusion/control_steps.h"
#include "tessera/fusion/dots.h"
#include "tessera/fusion/early_kernels.h"
#include "tessera/fusion/graph.h"
#include "tessera/fusion/kernels/emit_kernel.h"
#include "tessera/fusion/kernels/share_kernels.h"
#include "tessera/fusion/kernels/small_product.h"
#include "tessera/fusion/plan.h"
#include "tessera/fusion/update_order.h"
#include "tessera/fusion/updates.h"

namespace tessera::fusion {
namespace {

class Scheduler {
 public:
  Scheduler(const Graph& graph, const FuseOptions& options)
      : g_(graph), options_(options), out_{.mesh = graph.mesh} {}

  // Returns false if more values must be stored, after marking them in `must_store`.
  bool run(std::vector<char>& must_store);
  Schedule take() { return std::move(out_); }

 private:
  int slot(int v);
  std::vector<int> slots(std::span<const int> values);
  // Returns the step of a stored op, or of a view of its operand.
  Step stored_step(const Group& group);

  const Graph& g_;
  const FuseOptions& options_;
  Schedule out_;
  std::vector<int> slot_of_;
  std::vector<int> output_of_;  // the first output that is this value
};

int Scheduler::slot(int v) {
  if (slot_of_[v] >= 0) return slot_of_[v];
  const GraphValue& value = g_.values[v];
  Slot slot{
      .dtype = value.dtype, .shape = value.shape, .axes = value.axes, .instances = value.instances};
  if (value.input >= 0) {
    slot.kind = Slot::Kind::kInput;
    slot.index = value.input;
  } else if (value.op < 0) {
    slot.kind = Slot::Kind::kConstant;
    slot.literal = *value.constant;
  } else if (value.output) {
    slot.kind = Slot::Kind::kOutput;
    slot.index = output_of_[v];
  }
  out_.slots.push_back(std::move(slot));
  return slot_of_[v] = static_cast<int>(out_.slots.size()) - 1;
}

std::vector<int> Scheduler::slots(std::span<const int> values) {
  std::vector<int> out;
  for (int v : values) out.push_back(v < 0 ? -1 : slot(v));
  return out;
}

Step Scheduler::stored_step(const Group& group) {
  const GraphOp& op = g_.ops[group.op];
  const AxisList& axes = g_.values[op.results[0]].axes;
  std::vector<int> in = slots(op.operands);
  if (op.after_effect) in.pop_back();
  const std::vector<int> out = slots(op.results);
  switch (op.kind) {
    case OpKind::kReshape:
      return ViewStep{in[0], out[0]};
    case OpKind::kDot: {
      DotStep dot = dot_step(op, in, out[0], axes);
      if (std::optional<KernelStep> small = small_product(dot, out_.slots))
        return std::move(*small);
      return dot;
    }
    case OpKind::kConvolution:
      return ConvolutionStep{.params = op.op->params.as<ConvolutionParams>(),
                             .lhs = in[0],
                             .rhs = in[1],
                             .out = out[0],
                             .axes = axes};
    case OpKind::kCollective:
      return collective_step(op, in, out[0]);
    case OpKind::kCall:
      return CallStep{
          .name = std::string(op.op->def->name),
          .in = {in.begin(), in.begin() + static_cast<ptrdiff_t>(op.op->operands.size())},
          .out = out,
          .fn = op.call,
          .axes = axes,
          .updates = is_update(op)};
    case OpKind::kUpdate:
      return UpdateStep{
          .in = in[0],
          .update = in[1],
          .out = out[0],
          .starts = {in.begin() + 2, in.begin() + 2 + g_.values[op.results[0]].shape.rank()},
          .axes = axes};
    case OpKind::kAxisIndex:
      return axis_index_step(op, g_.mesh, axes, out[0]);
    case OpKind::kControl:
      return control_step(*op.control, in, out);
    default:
      TESSERA_CHECK(false, "a fusable op as a step");
      __builtin_unreachable();
  }
}

bool Scheduler::run(std::vector<char>& must_store) {
  const FusionPlan plan = make_fusion_plan(g_, must_store);
  slot_of_.assign(g_.values.size(), -1);
  output_of_.assign(g_.values.size(), -1);
  for (size_t k = g_.outputs.size(); k-- > 0;) output_of_[g_.outputs[k]] = static_cast<int>(k);
  for (int v : g_.inputs) out_.inputs.push_back(slot(v));
  Emitter emitter(g_, plan, options_);
  bool complete = true;
  for (int k : plan.order) {
    const Group& group = plan.groups[k];
    if (!group.kernel) {
      out_.steps.push_back(stored_step(group));
      continue;
    }
    std::variant<EmittedKernel, int> emitted = emitter.emit(k);
    if (int* v = std::get_if<int>(&emitted)) {
      TESSERA_CHECK(!plan.stored[*v], "value {} is stored and has no address", *v);
      must_store[*v] = 1;
      complete = false;
      continue;
    }
    EmittedKernel& made = std::get<EmittedKernel>(emitted);
    out_.steps.emplace_back(KernelStep{std::move(made.kernel), slots(made.values), group.axes});
  }
  for (int v : g_.outputs) out_.outputs.push_back(slot(v));
  return complete;
}

// Returns the schedule of a graph. `own_inputs` is the argument of find_updates().
Schedule fuse_graph(Graph graph, const FuseOptions& options,
                    const std::vector<bool>& own_inputs = {});

// Returns a region's schedule; its outputs vary over the axes that the enclosing step needs.
std::shared_ptr<const Schedule> fuse_region(const Region& region, const Mesh& mesh,
                                            const FuseOptions& options,
                                            const std::vector<bool>& own_inputs) {
  auto out = std::make_shared<Schedule>(fuse_graph(std::move(*region.graph), options, own_inputs));
  for (size_t k = 0; k < out->outputs.size(); ++k) {
    if (out->slots[out->outputs[k]].axes == region.outputs[k]) continue;
    Slot slot = out->slots[out->outputs[k]];
    slot.kind = Slot::Kind::kOutput;
    slot.index = static_cast<int>(k);
    slot.axes = region.outputs[k];
    slot.instances = axes_size(mesh, slot.axes);
    slot.literal = {};
    out->slots.push_back(std::move(slot));
    const int wider = static_cast<int>(out->slots.size()) - 1;
    out->steps.emplace_back(ViewStep{out->outputs[k], wider});
    out->outputs[k] = wider;
  }
  return out;
}

// Returns for each input of a region whether its memory is the region's own: true for the carries
// of a loop's body. An empty list means: none.
std::vector<bool> own_inputs_of(const GraphControl& control, size_t region) {
  if (!control.loop || region > 0) return {};
  std::vector<bool> out(control.num_consts + control.num_carry, false);
  std::fill(out.begin() + static_cast<ptrdiff_t>(control.num_consts), out.end(), true);
  return out;
}

Schedule fuse_graph(Graph graph, const FuseOptions& options, const std::vector<bool>& own_inputs) {
  absorb_into_dots(graph, !options.reproducible);
  find_updates(graph, own_inputs);
  order_updates(graph);
  for (GraphOp& op : graph.ops)
    if (op.kind == OpKind::kControl)
      for (size_t r = 0; r < op.control->regions.size(); ++r) {
        Region& region = op.control->regions[r];
        region.schedule = fuse_region(region, graph.mesh, options, own_inputs_of(*op.control, r));
      }
  std::vector<char> must_store(graph.values.size(), 0);
  while (true) {
    Scheduler scheduler(graph, options);
    if (!scheduler.run(must_store)) continue;
    Schedule schedule = scheduler.take();
    schedule.reproducible = options.reproducible;
    run_kernels_early(schedule);
    return schedule;
  }
}

}  // namespace

Schedule fuse(const Function& local, const Mesh& mesh, const FuseOptions& options) {
  Schedule schedule = fuse_graph(build_graph(local, mesh, options.input_axes), options);
  share_kernels(schedule);
  return schedule;
}

}  // namespace tessera::fusion
