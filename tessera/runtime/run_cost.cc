#include "tessera/runtime/run_cost.h"

#include <algorithm>
#include <utility>

#include "tessera/base/format.h"
#include "tessera/base/overloaded.h"
#include "tessera/fusion/in_place.h"
#include "tessera/runtime/memory_plan.h"
#include "tessera/runtime/routine_code.h"

namespace tessera::runtime {
namespace {

// Computes how often the nodes of a kernel are evaluated. Code generation computes a node in the
// innermost loop whose index it needs, so once for each iteration of that loop and of the loops
// around it.
class KernelCounts {
 public:
  explicit KernelCounts(const Kernel& kernel) : k_(kernel), depth_(kernel.nodes.size(), 0) {
    for (size_t i = 0; i < k_.nodes.size(); ++i) {
      const KernelNode& node = k_.nodes[i];
      int depth = depth_of(node.address);
      const auto read = [&](int arg) { depth = std::max(depth, depth_[static_cast<size_t>(arg)]); };
      for (int arg : node.args) read(arg);
      for (const auto& [index, stride] : node.dynamic) read(index);
      if (node.guard >= 0) read(node.guard);
      if (node.kind == NodeKind::kReduced) depth = kBlock;
      depth_[i] = depth;
    }
  }

  double evaluations() const {
    double sum = 0;
    for (size_t i = 0; i < k_.nodes.size(); ++i)
      if (k_.nodes[i].kind == NodeKind::kScalarOp || k_.nodes[i].kind == NodeKind::kLoad)
        sum += times(static_cast<int>(i), k_.nodes[i].loop);
    for (size_t l = 0; l < k_.loops.size(); ++l)
      for (const KernelReduction& r : k_.loops[l].reductions)
        sum += static_cast<double>(r.nodes.size()) * iterations(static_cast<int>(l));
    return sum;
  }
  double bytes_read() const {
    double sum = 0;
    for (const KernelNode& node : k_.nodes) {
      if (node.kind != NodeKind::kLoad) continue;
      const KernelBuffer& buffer = k_.buffers[static_cast<size_t>(node.buffer)];
      if (buffer.kind == BufferKind::kScratch) continue;
      double elements = distinct(node.address, node.loop);
      for (const auto& [index, stride] : node.dynamic)
        elements = std::max(elements, times(index, node.loop));
      sum += bytes_of(buffer, elements);
    }
    return sum;
  }
  double bytes_written() const {
    double sum = 0;
    for (size_t l = 0; l < k_.loops.size(); ++l)
      for (const KernelStore& store : k_.loops[l].stores) {
        const KernelBuffer& buffer = k_.buffers[static_cast<size_t>(store.buffer)];
        if (buffer.kind == BufferKind::kScratch) continue;
        sum += bytes_of(buffer, distinct(store.address, static_cast<int>(l)));
      }
    return sum;
  }

 private:
  // The depth of a node. 0: computed once; 1: once for each row of the parallel dimensions except
  // the last; kBlock: once for each element of the parallel dimensions; kBlock + i: also once for
  // each of the loop's first i extents.
  static constexpr int kBlock = 2;

  int depth_of(const Affine& address) const {
    int depth = 0;
    for (size_t d = 0; d < address.parallel.size(); ++d)
      if (address.parallel[d])
        depth = std::max(depth, d + 1 == address.parallel.size() ? kBlock : 1);
    for (size_t d = 0; d < address.inner.size(); ++d)
      if (address.inner[d]) depth = kBlock + 1 + static_cast<int>(d);
    return depth;
  }
  double iterations(int loop) const {
    return static_cast<double>(k_.parallel_elements() *
                               k_.loops[static_cast<size_t>(loop)].extents.elements());
  }
  double times(int node, int loop) const {
    const int depth = depth_[static_cast<size_t>(node)];
    double out = 1;
    const size_t parallel = k_.parallel.size();
    const size_t outer = depth == 0 ? 0 : depth == 1 ? parallel - 1 : parallel;
    for (size_t d = 0; d < outer; ++d) out *= static_cast<double>(k_.parallel[d]);
    const Dims& extents = k_.loops[static_cast<size_t>(loop)].extents;
    for (int d = 0; d < depth - kBlock && d < static_cast<int>(extents.size()); ++d)
      out *= static_cast<double>(extents[static_cast<size_t>(d)]);
    return out;
  }
  // Returns how many different elements the address reaches.
  double distinct(const Affine& address, int loop) const {
    double out = 1;
    const Dims& extents = k_.loops[static_cast<size_t>(loop)].extents;
    for (size_t d = 0; d < address.parallel.size(); ++d)
      if (address.parallel[d]) out *= static_cast<double>(k_.parallel[d]);
    for (size_t d = 0; d < address.inner.size() && d < extents.size(); ++d)
      if (address.inner[d]) out *= static_cast<double>(extents[d]);
    return out;
  }
  static double bytes_of(const KernelBuffer& buffer, double elements) {
    return std::min(elements, static_cast<double>(buffer.elements)) *
           static_cast<double>(itemsize(buffer.dtype));
  }

  const Kernel& k_;
  std::vector<int> depth_;
};

// The surroundings of a schedule: the names of loops and branches, and how often it runs.
struct Around {
  std::string name;
  double runs = 1;
  bool interpreted = false;
};

class Counter {
 public:
  // Returns the costs of the schedule's steps. `plan` is the schedule's memory plan.
  std::vector<StepCost> run(const Schedule& s, const MemoryPlan& plan, const Around& around) {
    for (size_t i = 0; i < s.steps.size(); ++i) {
      if (plan.storage.is_view[i]) continue;
      s_ = &s, plan_ = &plan, around_ = &around;
      std::visit([&](const auto& step) { add(step, plan.steps[i], around); }, s.steps[i]);
    }
    return std::move(out_);
  }

 private:
  double bytes(int slot) const {
    if (slot < 0) return 0;
    const Slot& x = s_->slots[static_cast<size_t>(slot)];
    return static_cast<double>(x.bytes() * x.instances);
  }
  double bytes(const std::vector<int>& slots) const {
    double sum = 0;
    for (int slot : slots) sum += bytes(slot);
    return sum;
  }
  std::string shape(int slot) const {
    const Slot& x = s_->slots[static_cast<size_t>(slot)];
    return fmt::format("{}{}", x.dtype, x.shape);
  }
  // Returns whether only tiles of the slot are ever stored, in the caches of cores.
  bool in_tiles(int slot) const {
    const int storage = plan_->storage.slots[static_cast<size_t>(slot)].storage;
    return plan_->storage.storages[static_cast<size_t>(storage)].in_tiles;
  }
  // Returns whether both slots have the same memory.
  bool together(int in, int out) const {
    return plan_->storage.slots[static_cast<size_t>(in)].storage ==
           plan_->storage.slots[static_cast<size_t>(out)].storage;
  }

  void add_step(const Around& around, std::string name, double read, double written,
                double evaluations = 0) {
    out_.push_back({.name = around.name + std::move(name),
                    .runs = around.runs,
                    .bytes_read = read * around.runs,
                    .bytes_written = written * around.runs,
                    .evaluations = evaluations * around.runs,
                    .interpreted = around.interpreted ? around.runs : 0});
  }
  void add_copy(const Around& around, std::string name, double size) {
    if (size > 0) add_step(around, std::move(name), size, size);
  }

  void add(const KernelStep& step, const StepMemory&, const Around& around) {
    const KernelCounts counts(step.kernel);
    const auto instances = static_cast<double>(instance_count(*s_, step.axes));
    std::string name = "kernel";
    for (int slot : step_slots(Step(step)).writes) name += " " + shape(slot);
    double read = instances * counts.bytes_read();
    for (int slot : step_slots(Step(step)).reads)
      if (in_tiles(slot)) read -= bytes(slot);
    add_step(around, std::move(name), read, instances * counts.bytes_written(),
             instances * counts.evaluations());
  }
  void add(const DotStep& step, const StepMemory&, const Around& around) {
    add_step(around, fmt::format("dot {} . {}", shape(step.lhs), shape(step.rhs)),
             bytes(step.lhs) + (step.symmetric ? 0 : bytes(step.rhs)) + bytes(step.bias),
             bytes(step.out));
  }
  void add(const ConvolutionStep& step, const StepMemory&, const Around& around) {
    add_step(around, fmt::format("convolution {} with {}", shape(step.lhs), shape(step.rhs)),
             bytes(step.lhs) + bytes(step.rhs), in_tiles(step.out) ? 0 : bytes(step.out));
  }
  void add(const CollectiveStep& step, const StepMemory&, const Around& around) {
    add_step(around, "collective " + shape(step.out), bytes(step.in), bytes(step.out));
  }
  void add(const CallStep& step, const StepMemory&, const Around& around) {
    double read = bytes(step.in), written = bytes(step.out);
    for (size_t r = 0; step.updates && r < step.out.size(); ++r) {
      if (!together(step.in[r], step.out[r])) continue;
      read -= bytes(step.in[r]);
      written += bytes(step.in[step.in.size() - step.out.size() + r]) - bytes(step.out[r]);
    }
    add_step(around, step.name + " " + shape(step.out[0]), read, written);
  }
  void add(const UpdateStep& step, const StepMemory&, const Around& around) {
    add_step(around, fmt::format("update {} of {}", shape(step.update), shape(step.out)),
             bytes(step.update), bytes(step.update));
    if (!together(step.in, step.out))
      add_copy(around, "copy for an update of " + shape(step.out), bytes(step.out));
  }
  void add(const InstanceTableStep&, const StepMemory&, const Around&) {}
  void add(const ViewStep&, const StepMemory&, const Around&) {}

  void add(const LoopStep& step, const StepMemory& memory, const Around& around) {
    const Schedule& s = *s_;
    const MemoryPlan& plan = *plan_;
    std::vector<bool> in_place(step.in.size(), false);
    for (const auto& [in, result] : memory.in_place) in_place[static_cast<size_t>(in)] = true;
    const auto is_lost = [&](size_t c) { return !memory.is_routine && memory.loop.lost[c]; };
    for (size_t c = 0; c < step.in.size(); ++c)
      if (is_lost(c) || (in_place[c] && !together(step.in[c], step.out[c])))
        add_copy(around, "copy of a carry before its loop " + shape(step.out[c]),
                 bytes(step.out[c]));
    const auto trips = static_cast<double>(std::max<int64_t>(step.cond ? 1 : 0, step.trip_count));
    const Around inside{.name = around.name + (memory.is_routine ? "loop: " : "loop by steps: "),
                        .runs = around.runs * trips,
                        .interpreted = !memory.is_routine};
    if (step.cond) nested(*step.cond, memory.is_routine ? nullptr : memory.nested[1].get(), inside);
    // A routine plans for itself. This plan has the same carries in place.
    const StorageContext context{
        .ends = fusion::ends_of(memory.in_place, step.consts.size(), step.body->inputs.size())};
    const std::unique_ptr<MemoryPlan> own =
        memory.is_routine ? std::make_unique<MemoryPlan>(plan_memory(*step.body, context))
                          : nullptr;
    const MemoryPlan& body = own ? *own : *memory.nested[0];
    nested(*step.body, &body, inside);
    s_ = &s, plan_ = &plan;
    for (size_t k = 0; k < body.outputs.size(); ++k) {
      const MemoryPlan::Output& output = body.outputs[k];
      if (output.own >= 0 || (k < step.in.size() && in_place[k])) continue;
      add_copy(inside, "copy of a result of a trip",
               static_cast<double>(output.bytes * output.instances));
    }
  }
  void add(const BranchStep& step, const StepMemory& memory, const Around& around) {
    const Schedule& s = *s_;
    const MemoryPlan& plan = *plan_;
    std::vector<StepCost> most;
    double most_bytes = -1;
    const Around inside{
        .name = around.name + "branch: ", .runs = around.runs, .interpreted = around.interpreted};
    for (const auto& [in, result] : memory.in_place) {
      const int from = step.in[static_cast<size_t>(in)], to = step.out[static_cast<size_t>(result)];
      if (!together(from, to)) add_copy(around, "copy before a branch " + shape(to), bytes(to));
    }
    for (size_t b = 0; b < step.branches.size(); ++b) {
      if (step.is_unlikely(b)) continue;
      std::vector<StepCost> before = std::exchange(out_, {});
      const MemoryPlan& branch = *memory.nested[b];
      nested(*step.branches[b], &branch, inside);
      s_ = &s, plan_ = &plan;
      for (size_t k = 0; k < branch.outputs.size(); ++k)
        if (branch.outputs[k].own < 0 && !is_kept(step, b, k) && !is_in_place(memory, k))
          add_copy(inside, "copy of a result",
                   static_cast<double>(branch.outputs[k].bytes * branch.outputs[k].instances));
      double sum = 0;
      for (const StepCost& cost : out_) sum += cost.bytes() + cost.evaluations;
      if (sum > most_bytes) most = std::move(out_), most_bytes = sum;
      out_ = std::move(before);
    }
    out_.insert(out_.end(), most.begin(), most.end());
  }
  static bool is_in_place(const StepMemory& memory, size_t result) {
    return std::any_of(memory.in_place.begin(), memory.in_place.end(), [&](const auto& pair) {
      return static_cast<size_t>(pair.second) == result;
    });
  }
  // Returns whether result k of the branch is an operand that is already in the result's memory.
  bool is_kept(const BranchStep& step, size_t branch, size_t k) const {
    const Schedule& s = *step.branches[branch];
    const auto input = std::find(s.inputs.begin(), s.inputs.end(), s.outputs[k]);
    return input != s.inputs.end() &&
           together(step.in[static_cast<size_t>(input - s.inputs.begin())], step.out[k]);
  }

  // Adds the costs of a nested schedule. If `plan` is null, it is made here.
  void nested(const Schedule& s, const MemoryPlan* plan, const Around& around) {
    if (plan) {
      std::vector<StepCost> inner = Counter().run(s, *plan, around);
      out_.insert(out_.end(), std::make_move_iterator(inner.begin()),
                  std::make_move_iterator(inner.end()));
      return;
    }
    const MemoryPlan own = plan_memory(s);
    nested(s, &own, around);
  }

  const Schedule* s_ = nullptr;
  const MemoryPlan* plan_ = nullptr;
  const Around* around_ = nullptr;
  std::vector<StepCost> out_;
};

template <class Part>
double sum_of(const std::vector<StepCost>& steps, Part part) {
  double sum = 0;
  for (const StepCost& step : steps) sum += part(step);
  return sum;
}

}  // namespace

double RunCost::runs() const {
  return sum_of(steps, [](const StepCost& step) { return step.runs; });
}
double RunCost::bytes() const {
  return sum_of(steps, [](const StepCost& step) { return step.bytes(); });
}
double RunCost::evaluations() const {
  return sum_of(steps, [](const StepCost& step) { return step.evaluations; });
}
double RunCost::interpreted() const {
  return sum_of(steps, [](const StepCost& step) { return step.interpreted; });
}

RunCost run_cost(const Schedule& schedule) {
  const MemoryPlan plan = plan_memory(schedule);
  RunCost out{.steps = Counter().run(schedule, plan, {}),
              .allocations = plan.storage.own_outputs + (plan.storage.arena_bytes > 0 ? 1 : 0),
              .arena_bytes = plan.storage.arena_bytes};
  return out;
}

}  // namespace tessera::runtime
